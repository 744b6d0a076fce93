//! The order in which Java's `HashMap` lists the keys of a copy. Kafka computes signatures of SCRAM over extensions in that order.

/// The load at which the table doubles is three quarters.
const FIRST_SIZE: usize = 16;

/// The pairs as Java would list them: the last value of each key, ordered by the place in its table.
pub(super) fn in_java_order<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<(&'a str, &'a str)> {
    let mut unique: Vec<(&str, &str)> = Vec::new();
    for (key, value) in pairs {
        match unique.iter_mut().find(|(other, _)| *other == key) {
            Some(known) => known.1 = value,
            None => unique.push((key, value)),
        }
    }
    let count = unique.len();
    let mut size = FIRST_SIZE;
    while count > size / 4 * 3 {
        size *= 2;
    }
    // Keys of one place keep their order. Kafka copies the map, and the copy has a table of its own size.
    unique.sort_by_key(|(key, _)| place(key, size));
    let copy = (count * 4 / 3 + 1).next_power_of_two();
    unique.sort_by_key(|(key, _)| place(key, copy));
    unique
}

fn place(key: &str, size: usize) -> usize {
    let hash = key.encode_utf16().fold(0u32, |hash, unit| hash.wrapping_mul(31).wrapping_add(unit.into()));
    (hash ^ (hash >> 16)) as usize & (size - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a copy of a `HashMap` of Java 17 prints after the same puts.
    #[test]
    fn keys_are_in_javas_order() {
        let order = |keys: &[&'static str]| {
            in_java_order(keys.iter().map(|key| (*key, ""))).iter().map(|(key, _)| *key).collect::<Vec<_>>().join(",")
        };
        assert_eq!(order(&["b", "a"]), "a,b");
        assert_eq!(order(&["tokenauth", "zone", "alpha", "B"]), "B,tokenauth,zone,alpha");
        let twelve = ["q", "w", "e", "r", "t", "y", "u", "i", "o", "p", "as", "df"];
        assert_eq!(order(&twelve), "df,e,i,o,p,q,r,as,t,u,w,y");
        let many: Vec<&str> =
            "one,two,three,four,five,six,seven,eight,nine,ten,eleven,twelve,thirteen".split(',').collect();
        assert_eq!(order(&many), "nine,six,one,seven,two,three,thirteen,eight,four,twelve,eleven,ten,five");
        assert_eq!(in_java_order([("a", "1"), ("b", "2"), ("a", "3")]), [("a", "3"), ("b", "2")]);
    }
}
