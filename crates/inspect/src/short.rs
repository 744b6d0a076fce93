/// Text of others as it may go to a terminal: without control characters, and cut where it becomes long.
pub fn short(text: &str, width: usize) -> String {
    let mut chars = text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c });
    let mut start: String = chars.by_ref().take(width).collect();
    if chars.next().is_some() {
        start.pop();
        start.push('…');
    }
    start
}
