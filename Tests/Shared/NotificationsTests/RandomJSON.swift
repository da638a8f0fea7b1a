import CommonTesting

/// Makes random JSON dictionaries as tokens, so that white space can be put between any two of them.
struct RandomJSON {
    var generator: SeededGenerator

    init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    /// The tokens of a dictionary.
    mutating func dictionary(depth: Int = 0) -> [String] {
        var tokens = ["{"]
        for index in 0..<Int.random(in: 0...4, using: &generator) {
            if index > 0 { tokens.append(",") }
            tokens += [string(from: Self.keys), ":"] + value(depth: depth + 1)
        }
        return tokens + ["}"]
    }

    /// The tokens as one text, each with as much white space around it as chance wants.
    mutating func spaced(_ tokens: [String]) -> [UInt8] {
        var text: [UInt8] = []
        for token in tokens {
            text += space()
            text += token.utf8
        }
        return text + space()
    }

    private mutating func space() -> [UInt8] {
        (0..<Int.random(in: 0...3, using: &generator)).map { _ in pick(Self.spaces) }
    }

    private mutating func value(depth: Int) -> [String] {
        switch Int.random(in: 0..<(depth < 5 ? 6 : 3), using: &generator) {
        case 0: [string(from: Self.strings)]
        case 1: [pick(Self.numbers)]
        case 2: [pick(["true", "false", "null"])]
        case 3: array(depth: depth)
        default: dictionary(depth: depth)
        }
    }

    private mutating func array(depth: Int) -> [String] {
        var tokens = ["["]
        for index in 0..<Int.random(in: 0...3, using: &generator) {
            if index > 0 { tokens.append(",") }
            tokens += value(depth: depth + 1)
        }
        return tokens + ["]"]
    }

    private mutating func string(from texts: [String]) -> String { "\"\(pick(texts))\"" }

    private mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[Int.random(in: 0..<elements.count, using: &generator)]
    }

    private static let spaces: [UInt8] = [0x20, 0x09, 0x0a, 0x0d]
    private static let keys = [
        "aps", "alert", "badge", "sound", "content-available", "", "a", #"\u0061ps"#, "é", "日本", #"\""#,
    ]
    private static let strings = [
        "", " ", "Hello", #"\n\t\r\b\f\/\\\""#, #"\u00e9"#, #"\ud83d\ude00"#, "😀", "é", "\u{7f}", "\u{2028}", "{}[],:",
    ]
    private static let numbers = [
        "0", "-0", "1", "10", "-1", "1.5", "0.0", "1e5", "1E+5", "1e-5", "-12.25e2", "1234567890",
    ]
}
