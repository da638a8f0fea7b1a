extension Payload {
    /// How many levels of dictionaries and arrays a payload may have. The Guide sets no limit. Real payloads have fewer
    /// than ten, and the limit protects devices whose readers recurse from hostile providers.
    package static let maximumDepth = 64

    /// Reads a body in one pass: checks that it is one JSON dictionary (RFC 8259) in valid UTF-8, notes what its `aps`
    /// dictionary contains, and removes the white space between tokens, so that it fits on a line.
    ///
    /// The caller checks the size, which depends on the topic.
    package init(reading body: Span<UInt8>) throws(PayloadError) {
        let scanner = try Self.scanned(body)
        self.init(stored: Self.copy(body, without: scanner.space), contents: scanner.contents)
    }

    /// Reads a body in an array, and keeps the array if it has no white space to remove; see ``init(reading:)``.
    package init(_ body: [UInt8]) throws(PayloadError) {
        let scanner = try Self.scanned(body.span)
        // A payload may wait for a long time, so copy it if the array has much unused capacity.
        let isWhole = scanner.space == 0 && body.capacity - body.count <= Self.spareBytes
        self.init(
            stored: isWhole ? body : Self.copy(body.span, without: scanner.space), contents: scanner.contents)
    }

    /// The unused capacity that is accepted, in bytes. Most arrays have this much.
    private static let spareBytes = 64

    private static func scanned(_ body: Span<UInt8>) throws(PayloadError) -> PayloadScanner {
        var scanner = PayloadScanner()
        if let failure = scanner.scan(body) { throw failure }
        return scanner
    }

    /// Copies a JSON text without the white space between its tokens.
    /// - Parameter space: the number of bytes of white space.
    private static func copy(_ body: Span<UInt8>, without space: Int) -> [UInt8] {
        guard space > 0 else { return body.array }
        return [UInt8](capacity: body.count - space) { output in
            var (isInString, isEscaped) = (false, false)
            for index in body.indices {
                let byte = body[index]
                if isInString {
                    isInString = isEscaped || byte != UInt8(ascii: "\"")
                    isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
                } else if JSONText.isSpace(byte) {
                    continue
                } else {
                    isInString = byte == UInt8(ascii: "\"")
                }
                output.append(byte)
            }
        }
    }
}

/// Why a body is not a payload.
package enum PayloadError: Error, Sendable, Hashable, CustomStringConvertible {
    case empty
    /// The body is not JSON. The offset of the first wrong byte counts from 0.
    case malformed(offset: Int)
    /// The body is JSON, but not a dictionary.
    case notADictionary
    case tooDeep

    package var description: String {
        switch self {
        case .empty: "The body is empty; it must be a JSON dictionary."
        case .malformed(let offset): "The body is not a JSON dictionary: byte \(offset) does not belong there."
        case .notADictionary: "The body is JSON but not a dictionary."
        case .tooDeep: "The body has more than \(Payload.maximumDepth) levels of dictionaries and arrays."
        }
    }
}

extension Payload {
    /// Whether it is still what was read from the provider: a JSON dictionary on one line.
    package var isSound: Bool {
        var scanner = PayloadScanner()
        return scanner.scan(json.span) == nil && scanner.space == 0
    }
}
