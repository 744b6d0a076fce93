use super::*;

/// What `com.google.re2j` 1.8, which Kafka 4.4 uses, says of each.
const INVALID: &[(&str, &str)] = &[
    ("[", NO_BRACKET),
    ("[a", NO_BRACKET),
    ("[]", NO_BRACKET),
    ("[^]", NO_BRACKET),
    ("[a-", NO_BRACKET),
    ("[a\\]", NO_BRACKET),
    ("[[:alpha:]", NO_BRACKET),
    ("(", NO_PARENTHESIS),
    ("((a)", NO_PARENTHESIS),
    ("(?:a", NO_PARENTHESIS),
    ("(?P<n>a", NO_PARENTHESIS),
    ("(?i:a", NO_PARENTHESIS),
    (")", UNEXPECTED_PARENTHESIS),
    ("(a))", UNEXPECTED_PARENTHESIS),
    ("a**", NESTED_REPEAT),
    ("a{1}{2}", NESTED_REPEAT),
    ("a{2}*", NESTED_REPEAT),
    ("a?+", NESTED_REPEAT),
    ("x{1000}{10}", NESTED_REPEAT),
    ("*a", NOTHING_TO_REPEAT),
    ("(*)", NOTHING_TO_REPEAT),
    ("a|*", NOTHING_TO_REPEAT),
    ("(?i)*", NOTHING_TO_REPEAT),
    ("\\Q\\E*", NOTHING_TO_REPEAT),
    ("a{1001}", BAD_REPEAT_COUNT),
    ("a{2,1}", BAD_REPEAT_COUNT),
    ("a{1,1001}", BAD_REPEAT_COUNT),
    ("a{99999999999}", BAD_REPEAT_COUNT),
    ("\\", TRAILING_BACKSLASH),
    ("a\\", TRAILING_BACKSLASH),
    ("[\\", TRAILING_BACKSLASH),
    ("\\8", BAD_ESCAPE),
    ("\\1", BAD_ESCAPE),
    ("\\C", BAD_ESCAPE),
    ("\\Z", BAD_ESCAPE),
    ("\\cA", BAD_ESCAPE),
    ("\\x4", BAD_ESCAPE),
    ("\\x{}", BAD_ESCAPE),
    ("\\x{4g}", BAD_ESCAPE),
    ("\\x{110000}", BAD_ESCAPE),
    ("[a-\\d]", BAD_ESCAPE),
    ("[\\Q]", BAD_ESCAPE),
    ("\\Ea", BAD_ESCAPE),
    ("[z-a]", BAD_CLASS),
    ("[a--b]", BAD_CLASS),
    ("[[:foo:]]", BAD_CLASS),
    ("\\pX", BAD_CLASS),
    ("\\p", BAD_CLASS),
    ("[\\p{Foo}]", BAD_CLASS),
    ("(?<n>a)(?<n>b)", "duplicate capture group name"),
    ("(?P<n->a)", BAD_NAME),
    ("(?P<>a)", BAD_NAME),
    ("(?<a", BAD_NAME),
    ("(?x)a", UNKNOWN_GROUP),
    ("(?=a)", UNKNOWN_GROUP),
    ("(?u)a", UNKNOWN_GROUP),
    ("(?R)a", UNKNOWN_GROUP),
    ("(?P=n)", UNKNOWN_GROUP),
    ("(?", UNKNOWN_GROUP),
    ("(?i", UNKNOWN_GROUP),
    ("(?i-)a", UNKNOWN_GROUP),
    ("(?i--s)a", UNKNOWN_GROUP),
    ("(?>a)", UNKNOWN_GROUP),
];

const VALID: &[&str] = &[
    "",
    "()",
    "(?:)",
    "a{1,",
    "a{,2}",
    "a{x}",
    "{",
    "}",
    "]",
    "a{0}",
    "a{01}",
    "a{2}?",
    "a??",
    "(|a)*",
    "^*",
    "$*",
    "\\b*",
    "[]a]",
    "[^]a]",
    "[-a]",
    "[a-]",
    "[a-b-c]",
    "[--a]",
    "[a[b]]",
    "[a&&b]",
    "[a~~b]",
    "[[]",
    "[[.a.]]",
    "[[:word:]-z]",
    "[[:^alpha:]]",
    "[^\\d]",
    "[\\pL]",
    "\\p{^Greek}",
    "\\P{^L}",
    "\\pN",
    "\\07",
    "\\0",
    "\\12",
    "\\v",
    "\\<",
    "\\-",
    "\\Q\\",
    "(?ii)a",
    "(?i)(?-i)a",
    "(?i-s:a)",
    "(?U)a+",
    "(?s).",
    "(?<1n>a)",
    "(a{1000}){10}",
    "[\\D]",
    "[:alpha:]",
    "\\z",
    "\\A",
];

#[test]
fn what_re2_refuses_is_refused_with_its_words() {
    for (pattern, why) in INVALID {
        assert_eq!(TopicPattern::compile(pattern).err(), Some(*why), "{pattern}");
    }
}

#[test]
fn what_re2_accepts_is_accepted() {
    for pattern in VALID {
        assert_eq!(TopicPattern::compile(pattern).err(), None, "{pattern}");
    }
}

#[test]
fn names_match_as_a_whole() {
    // Pattern, name, what `Matcher.matches` of RE2J says.
    let cases = [
        ("a|ab", "ab", true),
        ("foo", "foobar", false),
        ("foo.*", "foobar", true),
        ("(?i)FOO", "foo", true),
        ("\\Qa.b\\E", "a.b", true),
        ("\\Qa.b\\E", "axb", false),
        ("[a&&b]", "&", true),
        ("[a[b]]", "[]", true),
        ("[a[b]]", "b]", true),
        ("[[:word:]]+", "a_1", true),
        ("[^\\d]+", "abc", true),
        ("a{,2}", "a{,2}", true),
        ("^foo$", "foo", true),
        ("\\w+-\\d{2}", "orders-12", true),
        ("\\x{41}\\101", "AA", true),
        ("a-b#c &&~", "a-b#c &&~", true),
    ];
    for (pattern, name, wanted) in cases {
        assert_eq!(TopicPattern::compile(pattern).unwrap().matches(name), wanted, "{pattern} on {name}");
    }
}

#[test]
fn an_expression_that_explodes_is_refused() {
    assert!(TopicPattern::compile("(((a{1000}){1000}){1000})").is_err());
}
