/// The rules for the fields of one message (RFC 9113, 8.2, 8.3 and 8.5). A message that breaks one is malformed
/// (8.1.1).
///
/// A check reads each field once, and collects what the stream's state needs.
struct MessageRules {
    enum Kind {
        case request
        case response
        case trailers
    }

    /// The pseudo-header fields that have come.
    private struct Pseudo: OptionSet {
        let rawValue: UInt8
        static let method = Pseudo(rawValue: 1 << 0)
        static let scheme = Pseudo(rawValue: 1 << 1)
        static let authority = Pseudo(rawValue: 1 << 2)
        static let path = Pseudo(rawValue: 1 << 3)
        static let status = Pseudo(rawValue: 1 << 4)
    }

    private let kind: Kind
    private let allowsBlanks: Bool
    private var pseudo: Pseudo = []
    private var hasRegularField = false
    private var isHTTP = false
    private var isHTTPS = false
    private var isOptions = false
    private var path: Range<Int>?
    private var authority: Range<Int>?
    private var host: Range<Int>?

    private(set) var isConnect = false
    private(set) var isHead = false
    /// The status of a response; 0 for none.
    private(set) var status = 0
    private(set) var contentLength: UInt64?

    private init(_ kind: Kind, allowsBlanks: Bool) {
        self.kind = kind
        self.allowsBlanks = allowsBlanks
    }

    /// Checks all fields. A fault is a stream error (RFC 9113, 8.1.1).
    /// - Parameter isComplete: false if fields were left out, which are then not missed.
    static func check(
        _ list: FieldList, as kind: Kind, isComplete: Bool = true, allowsBlanks: Bool
    ) throws(Fault) -> MessageRules {
        var rules = MessageRules(kind, allowsBlanks: allowsBlanks)
        let bytes = list.bytes.span
        for index in list.entries.indices { try rules.field(list.entries[index], of: bytes) }
        if isComplete { try rules.end(bytes) }
        return rules
    }

    private mutating func field(_ field: FieldList.Entry, of bytes: Span<UInt8>) throws(Fault) {
        if field.isRepeated, field.rule == .none { return hasRegularField = true }
        if !field.isRepeated { try checkValue(bytes.extracting(field.value)) }
        if field.rule.isPseudo {
            try pseudoField(field, bytes.extracting(field.value))
        } else {
            hasRegularField = true
            guard field.isRepeated || FieldCharacters.areValidInName(bytes.extracting(field.name)) else {
                throw Self.malformed("RFC 9113, 8.2.1", "a field name has a prohibited character")
            }
            guard field.rule != .none else { return }
            try regularField(field, bytes.extracting(field.value))
        }
    }

    /// RFC 9113, 8.2.1.
    private func checkValue(_ value: Span<UInt8>) throws(Fault) {
        guard FieldCharacters.areValidInValue(value) else {
            throw Self.malformed("RFC 9113, 8.2.1", "a field value has a prohibited character")
        }
        guard !allowsBlanks, !value.isEmpty else { return }
        guard !FieldCharacters.isBlank(value[0]), !FieldCharacters.isBlank(value[value.count - 1]) else {
            throw Self.malformed("RFC 9113, 8.2.1", "a field value begins or ends with a blank")
        }
    }

    // MARK: Pseudo-header fields

    /// RFC 9113, 8.3.
    private mutating func pseudoField(_ field: FieldList.Entry, _ value: Span<UInt8>) throws(Fault) {
        guard kind != .trailers else { throw Self.malformed("RFC 9113, 8.1", "trailers have a pseudo-header field") }
        guard !hasRegularField else {
            throw Self.malformed("RFC 9113, 8.3", "a pseudo-header field follows a regular field")
        }
        guard kind == .request else {
            guard field.rule == .status else {
                throw Self.malformed("RFC 9113, 8.3", "a response has a pseudo-header field that responses do not have")
            }
            try once(.status)
            return try readStatus(value)
        }
        switch field.rule {
        case .method:
            try once(.method)
            isConnect = value.isEqual(to: "CONNECT")
            isHead = value.isEqual(to: "HEAD")
            isOptions = value.isEqual(to: "OPTIONS")
            guard field.isRepeated || FieldCharacters.areValidInMethod(value) else {
                throw Self.malformed("RFC 9113, 8.3.1", ":method is not a token")
            }
        case .path:
            try once(.path)
            path = field.value
            guard field.isRepeated || allowsBlanks || FieldCharacters.areVisible(value) else {
                throw Self.malformed("RFC 9113, 8.3.1", ":path has a blank")
            }
        case .scheme:
            try once(.scheme)
            isHTTPS = value.isEqual(to: "https")
            isHTTP = isHTTPS || value.isEqual(to: "http")
            guard field.isRepeated || FieldCharacters.areValidInScheme(value) else {
                throw Self.malformed("RFC 9113, 8.3.1", ":scheme is not the name of a scheme")
            }
        case .authority:
            try once(.authority)
            authority = field.value
            guard field.isRepeated || !value.isEmpty && FieldCharacters.areValidInAuthority(value) else {
                throw Self.malformed("RFC 9113, 8.3.1", ":authority is empty or has a prohibited character")
            }
        default:
            throw Self.malformed("RFC 9113, 8.3", "a request has a pseudo-header field that requests do not have")
        }
    }

    /// RFC 9113, 8.3: no pseudo-header field appears twice.
    private mutating func once(_ field: Pseudo) throws(Fault) {
        guard !pseudo.contains(field) else {
            throw Self.malformed("RFC 9113, 8.3", "a pseudo-header field is repeated")
        }
        pseudo.insert(field)
    }

    /// RFC 9113, 8.3.2, and RFC 9110, 15: three digits. 101 is not supported (RFC 9113, 8.6).
    private mutating func readStatus(_ value: Span<UInt8>) throws(Fault) {
        guard value.count == 3, let number = Self.number(value), number >= 100 else {
            throw Self.malformed("RFC 9113, 8.3.2", ":status is not a number of three digits")
        }
        guard number != 101 else { throw Self.malformed("RFC 9113, 8.6", ":status is 101") }
        status = Int(number)  // fits: three digits
    }

    // MARK: Regular fields

    private mutating func regularField(_ field: FieldList.Entry, _ value: Span<UInt8>) throws(Fault) {
        switch field.rule {
        case .te:
            // RFC 9113, 8.2.2: TE may be in a request, with no other value.
            guard kind != .response, Self.isTrailers(value) else {
                throw Self.malformed("RFC 9113, 8.2.2", "te has another value than trailers")
            }
        case .host where kind == .request:
            // RFC 9110, 7.2: one. Of two, only one could be compared with :authority.
            guard host == nil else { throw Self.malformed("RFC 9113, 8.3.1", "host is repeated") }
            host = field.value
        case .connectionSpecific:
            throw Self.malformed("RFC 9113, 8.2.2", "the message has a connection-specific field")
        case .contentLength where kind != .trailers:
            try readContentLength(value)
        default:
            break
        }
    }

    /// "trailers", in upper or lower case (RFC 9110, 10.1.4).
    private static func isTrailers(_ value: Span<UInt8>) -> Bool {
        var lower: [UInt8] = []
        guard value.count == 8 else { return false }
        for index in value.indices { lower.append(value[index] | 0x20) }
        return lower.span.isEqual(to: "trailers")
    }

    /// RFC 9113, 8.1.1, and RFC 9110, 8.6: a number. Two different numbers are malformed.
    private mutating func readContentLength(_ value: Span<UInt8>) throws(Fault) {
        guard let number = Self.number(value), contentLength == nil || contentLength == number else {
            throw Self.malformed("RFC 9113, 8.1.1", "content-length is not one number")
        }
        contentLength = number
    }

    /// A decimal number of up to 19 digits, which fits in any case; nil if it is none.
    private static func number(_ text: Span<UInt8>) -> UInt64? {
        guard (1...19).contains(text.count) else { return nil }
        var number: UInt64 = 0
        for index in text.indices {
            let digit = text[index] &- UInt8(ascii: "0")
            guard digit <= 9 else { return nil }
            number = number * 10 + UInt64(digit)  // fits: at most 19 digits
        }
        return number
    }

    // MARK: The whole list

    private func end(_ bytes: Span<UInt8>) throws(Fault) {
        switch kind {
        case .request where isConnect: try endConnect(bytes)
        case .request: try endRequest(bytes)
        case .response:
            guard pseudo.contains(.status) else { throw Self.malformed("RFC 9113, 8.3.2", ":status is missing") }
        case .trailers: break
        }
    }

    /// RFC 9113, 8.3.1.
    private func endRequest(_ bytes: Span<UInt8>) throws(Fault) {
        guard pseudo.isSuperset(of: [.method, .scheme, .path]), let path else {
            throw Self.malformed("RFC 9113, 8.3.1", ":method, :scheme or :path is missing")
        }
        if isHTTP {
            let isAsterisk = isOptions && bytes.extracting(path).isEqual(to: "*")
            guard !path.isEmpty, isAsterisk || bytes[path.lowerBound] == UInt8(ascii: "/") else {
                throw Self.malformed("RFC 9113, 8.3.1", ":path is neither a path nor * of OPTIONS")
            }
            if let authority, bytes.extracting(authority).contains(UInt8(ascii: "@")) {
                throw Self.malformed("RFC 9113, 8.3.1", ":authority has userinfo")
            }
        }
        if let authority, let host {
            let (authority, host) = (withoutPort(authority, bytes), withoutPort(host, bytes))
            guard bytes.extracting(authority).isEqualIgnoringCase(to: bytes.extracting(host)) else {
                throw Self.malformed("RFC 9113, 8.3.1", "host differs from :authority")
            }
        }
    }

    /// The range without the port that the scheme implies (RFC 3986, 6.2.3).
    private func withoutPort(_ range: Range<Int>, _ bytes: Span<UInt8>) -> Range<Int> {
        let port: StaticString = isHTTPS ? ":443" : ":80"
        let start = range.upperBound - port.utf8CodeUnitCount
        guard start >= range.lowerBound, bytes.extracting(start..<range.upperBound).isEqual(to: port) else {
            return range
        }
        return range.lowerBound..<start
    }

    /// RFC 9113, 8.5.
    private func endConnect(_ bytes: Span<UInt8>) throws(Fault) {
        guard pseudo.isDisjoint(with: [.scheme, .path]) else {
            throw Self.malformed("RFC 9113, 8.5", "CONNECT has :scheme or :path")
        }
        guard let authority, !authority.isEmpty else {
            throw Self.malformed("RFC 9113, 8.5", "CONNECT has no :authority")
        }
    }

    static func malformed(_ section: StaticString, _ text: StaticString) -> Fault {
        Fault(.protocolError, section, text)
    }
}

extension Span<UInt8> {
    fileprivate func contains(_ byte: UInt8) -> Bool {
        for index in indices where self[index] == byte { return true }
        return false
    }

    /// Whether both are the same but for the case of ASCII letters, as names of hosts are compared (RFC 3986, 6.2.2.1).
    fileprivate func isEqualIgnoringCase(to other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        func lower(_ byte: UInt8) -> UInt8 {
            (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
        }
        for index in indices where lower(self[index]) != lower(other[index]) { return false }
        return true
    }
}
