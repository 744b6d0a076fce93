//! Kafka's names in Rust case.

use milena_schema::{MessageKind, MessageSpec};

/// `IsKRaftController` becomes `is_kraft_controller`.
pub(crate) fn snake(name: &str) -> String {
    let name = name.replace("KRaft", "Kraft");
    let chars: Vec<char> = name.chars().collect();
    let mut snake = String::new();
    for (i, &c) in chars.iter().enumerate() {
        if c.is_uppercase() && i > 0 {
            let after_small = !chars[i - 1].is_uppercase();
            let before_small = chars.get(i + 1).is_some_and(|next| next.is_lowercase());
            if after_small || before_small {
                snake.push('_');
            }
        }
        snake.extend(c.to_lowercase());
    }
    snake
}

/// A field's name; keywords are escaped.
pub(crate) fn field(name: &str) -> String {
    let snake = snake(name);
    if matches!(snake.as_str(), "type" | "match" | "self" | "use" | "move" | "ref" | "in" | "as") {
        format!("r#{snake}")
    } else {
        snake
    }
}

/// `ListOffsets` becomes `LIST_OFFSETS`.
pub(crate) fn constant(name: &str) -> String {
    snake(name).to_uppercase()
}

/// The module of a message inside the module of its family.
pub(crate) fn module(message: &MessageSpec) -> String {
    match message.kind {
        MessageKind::Request => "request".to_owned(),
        MessageKind::Response => "response".to_owned(),
        _ => snake(&message.name),
    }
}
