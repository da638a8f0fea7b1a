extension Payload {
    /// How deep dictionaries and arrays may lie within each other. The guide sets no limit; real payloads stay below
    /// ten, and a bound keeps readers that recurse, on devices, safe from a hostile provider.
    package static let maximumDepth = 64

    /// Reads a body in one pass: checks that it is one JSON dictionary (RFC 8259) in valid UTF-8, notes what its `aps`
    /// dictionary holds and leaves out the white space between tokens, so that it fits on a line.
    ///
    /// The size is the caller's to check, because it depends on the topic.
    package init(reading body: Span<UInt8>) throws(PayloadError) {
        var scanner = PayloadScanner()
        var failure: PayloadError?
        let json = [UInt8](capacity: body.count) { output in
            failure = scanner.scan(body, into: &output)
        }
        if let failure { throw failure }
        self.init(stored: json, contents: scanner.contents)
    }

    /// Reads a body held in an array; see ``init(reading:)``.
    package init(_ body: [UInt8]) throws(PayloadError) {
        try self.init(reading: body.span)
    }
}

/// Why a body is not a payload.
package enum PayloadError: Error, Sendable, Hashable, CustomStringConvertible {
    case empty
    /// The body is not JSON from this byte on, counted from 0.
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
