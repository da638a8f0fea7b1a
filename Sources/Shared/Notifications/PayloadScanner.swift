/// Reads a body in one pass: recognises JSON (RFC 8259) without recursion.
struct PayloadScanner {
    private(set) var contents: Payload.Contents = []
    /// The bytes of white space between tokens.
    private(set) var space = 0

    private var next = Expected.value
    /// One bit for each open level: 1 for a dictionary, 0 for an array.
    private var levels: UInt128 = 0
    private var depth = 0
    private let maximumDepth: Int
    /// Whether the value being read belongs to the outermost key `aps`.
    private var isInAPS = false
    private var member = Member.other

    private enum Expected { case value, valueOrEnd, key, keyOrEnd, colon, commaOrEnd, nothing }

    /// The members that matter to the service.
    private enum Member { case other, aps, alert, badge, sound, contentAvailable }

    /// - Parameter maximumDepth: how many levels there may be; 128 at most.
    init(maximumDepth: Int = Payload.maximumDepth) { self.maximumDepth = maximumDepth }

    /// - Returns: nil if `body` is a JSON dictionary; otherwise the error.
    mutating func scan(_ body: Span<UInt8>) -> PayloadError? {
        guard !body.isEmpty else { return .empty }
        var index = 0
        while index < body.count {
            switch body[index] {
            case let byte where JSONText.isSpace(byte):
                space += 1
                index += 1
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                guard takesValue else { return .malformed(offset: index) }
                if let failure = open(isDictionary: body[index] == UInt8(ascii: "{")) { return failure }
                index += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                guard close(isDictionary: body[index] == UInt8(ascii: "}")) else { return .malformed(offset: index) }
                index += 1
            case UInt8(ascii: ","):
                guard next == .commaOrEnd else { return .malformed(offset: index) }
                next = isDictionary ? .key : .value
                index += 1
            case UInt8(ascii: ":"):
                guard next == .colon else { return .malformed(offset: index) }
                next = .value
                index += 1
            case UInt8(ascii: "\""):
                if let failure = string(body, &index) { return failure }
            default:
                if let failure = scalar(body, &index) { return failure }
            }
        }
        return next == .nothing ? nil : .malformed(offset: body.count)
    }

    private var takesValue: Bool { next == .value || next == .valueOrEnd }
    private var isDictionary: Bool { levels & 1 == 1 }

    private mutating func open(isDictionary: Bool) -> PayloadError? {
        guard depth > 0 || isDictionary else { return .notADictionary }
        guard depth < maximumDepth else { return .tooDeep }
        recordValue(isOn: false, isNull: false, isDictionary: isDictionary)
        levels = levels << 1 | (isDictionary ? 1 : 0)
        depth += 1
        next = isDictionary ? .keyOrEnd : .valueOrEnd
        return nil
    }

    private mutating func close(isDictionary: Bool) -> Bool {
        guard depth > 0, self.isDictionary == isDictionary,
            next == .commaOrEnd || next == (isDictionary ? .keyOrEnd : .valueOrEnd)
        else { return false }
        levels >>= 1
        depth -= 1
        if depth == 1 { isInAPS = false }
        next = depth == 0 ? .nothing : .commaOrEnd
        return true
    }

    private mutating func string(_ body: Span<UInt8>, _ index: inout Int) -> PayloadError? {
        let isKey = next == .key || next == .keyOrEnd
        guard isKey || takesValue else { return .malformed(offset: index) }
        guard depth > 0 else { return .notADictionary }
        guard let text = JSONText.skipString(body, &index) else { return .malformed(offset: index) }
        if isKey {
            member = depth == 1 || (depth == 2 && isInAPS) ? Self.member(body, text) : .other
            next = .colon
        } else {
            recordValue(isOn: false, isNull: false, isDictionary: false)
            next = .commaOrEnd
        }
        return nil
    }

    private mutating func scalar(_ body: Span<UInt8>, _ index: inout Int) -> PayloadError? {
        guard takesValue else { return .malformed(offset: index) }
        let start = index
        let isNumber = JSONText.skipNumber(body, &index)
        if !isNumber {
            index = start
            guard JSONText.skipWord(body, &index) else { return .malformed(offset: index) }
        }
        guard depth > 0 else { return .notADictionary }
        recordValue(
            isOn: member == .contentAvailable && Self.isOn(body.extracting(start..<index)),
            isNull: body[start] == UInt8(ascii: "n"),
            isDictionary: false,
        )
        next = .commaOrEnd
        return nil
    }

    /// Whether a number or a word switches something on. The value is nearly always 1.
    private static func isOn(_ value: Span<UInt8>) -> Bool {
        value.count == 1 ? value[0] == UInt8(ascii: "1") : JSONValue(any: value.array)?.isOn ?? false
    }

    /// Notes the value that begins here, at the present depth. If a key occurs twice, the last value counts, as for
    /// ``JSONValue``.
    private mutating func recordValue(isOn: Bool, isNull: Bool, isDictionary: Bool) {
        guard self.isDictionary else { return }
        if depth == 1, member == .aps {
            isInAPS = isDictionary
            contents = isDictionary ? .aps : []
        } else if depth == 2, isInAPS {
            switch member {
            case .alert: note(.alert, !isNull)
            case .badge: note(.badge, !isNull)
            case .sound: note(.sound, !isNull)
            case .contentAvailable: note(.contentAvailable, isOn)
            case .aps, .other: break
            }
        }
    }

    private mutating func note(_ content: Payload.Contents, _ isPresent: Bool) {
        if isPresent { contents.insert(content) } else { contents.remove(content) }
    }

    private static func member(_ body: Span<UInt8>, _ text: Range<Int>) -> Member {
        if matches(body, text, "aps") { return .aps }
        if matches(body, text, "alert") { return .alert }
        if matches(body, text, "badge") { return .badge }
        if matches(body, text, "sound") { return .sound }
        if matches(body, text, "content-available") { return .contentAvailable }
        return .other
    }

    /// Compares a key with an ASCII word. The key may have escapes.
    private static func matches(_ body: Span<UInt8>, _ text: Range<Int>, _ word: StaticString) -> Bool {
        let count = word.utf8CodeUnitCount
        guard text.count > count else { return text.count == count && body.extracting(text).isEqual(to: word) }
        var index = text.lowerBound
        for position in 0..<count {
            guard index < text.upperBound,
                let character = JSONText.asciiCharacter(body, &index),
                character == word.codeUnit(at: position)
            else { return false }
        }
        return index == text.upperBound
    }
}

extension StaticString {
    fileprivate func codeUnit(at position: Int) -> UInt8 {
        withUTF8Buffer { $0[position] }
    }
}
