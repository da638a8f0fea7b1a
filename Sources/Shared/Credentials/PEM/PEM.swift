import Foundation

/// The only reader of PEM (RFC 7468): it finds the blocks of a text.
///
/// It reads what openssl reads: lines of any length, white space at their ends, CRLF, a byte order mark, text before,
/// between and after the blocks (5.2), and the headers of RFC 1421 in a block. The contents of a block are only decoded
/// when somebody asks for them, so a damaged one does no harm to the others.
package struct PEM: Sendable {
    /// The largest number of blocks. A system's list of authorities has some 150.
    package static let maximumBlocks = 1_000
    /// The largest size of a label in bytes. The longest known one has 23.
    private static let maximumLabel = 64

    /// The text between two lines such as `-----BEGIN CERTIFICATE-----` and `-----END CERTIFICATE-----`.
    struct Block: Sendable {
        /// For example `PRIVATE KEY`.
        let label: String
        /// The Base64, and the headers before it.
        let body: [UInt8]
    }

    let blocks: [Block]

    /// - Throws: ``TrustError/Code/malformed`` with a sentence that says what is wrong and never quotes the text.
    package init(_ text: some Collection<UInt8>) throws(TrustError) {
        blocks = try Self.blocks(of: Array(text))
    }

    package init(_ text: String) throws(TrustError) { try self.init(text.utf8) }

    private static func blocks(of text: [UInt8]) throws(TrustError) -> [Block] {
        var blocks: [Block] = []
        var rest = text[...]
        while let begin = marker("BEGIN ", in: rest) {
            rest = text[begin.end...]
            guard let end = end(of: begin.label, in: rest) else {
                throw TrustError(
                    .malformed, "The \(begin.label) has no end: there is no line -----END \(begin.label)-----.")
            }
            guard blocks.count < maximumBlocks else {
                throw TrustError(.tooLarge, "The text has more than \(maximumBlocks) blocks of PEM.")
            }
            blocks.append(Block(label: begin.label, body: Array(rest[..<end.start])))
            rest = text[end.end...]
        }
        guard blocks.isEmpty else { return blocks }
        throw TrustError(.malformed, reasonWithoutBlocks(text))
    }

    /// Why a text has no block.
    private static func reasonWithoutBlocks(_ text: [UInt8]) -> String {
        guard text.contains(where: { $0 > UInt8(ascii: " ") }) else { return "The text is empty." }
        // In UTF-16 each character has a byte that is 0, also if the text was read as UTF-8 on its way here.
        if text.contains(0), marker("BEGIN ", in: text.filter { $0 != 0 }[...]) != nil {
            return "This is text in UTF-16; save it as UTF-8."
        }
        // DER of a sequence that is longer than 127 bytes (X.690, 8.1.3.5).
        if text.starts(with: [0x30]), text.count > 1, text[1] >= 0x81 {
            return "This is binary (DER or PKCS#12), not PEM; openssl pkey, x509 and pkcs12 convert it."
        }
        return "This is not PEM: there is no line -----BEGIN …-----."
    }

    private typealias Marker = (label: String, start: Int, end: Int)

    private static let dashes = Array("-----".utf8)

    /// Finds `-----BEGIN label-----`, wherever it stands.
    private static func marker(_ word: String, in text: ArraySlice<UInt8>) -> Marker? {
        let begin = dashes + Array(word.utf8)
        var rest = text
        while let start = rest.firstRange(of: begin) {
            let label = text[start.upperBound...].prefix { $0 != dashes[0] && $0 >= UInt8(ascii: " ") }
            if !label.isEmpty, label.count <= maximumLabel, text[label.endIndex...].starts(with: dashes) {
                return (String(decoding: label, as: UTF8.self), start.lowerBound, label.endIndex + dashes.count)
            }
            rest = text[start.upperBound...]
        }
        return nil
    }

    /// Finds the end of a block. Another block does not begin before it.
    private static func end(of label: String, in text: ArraySlice<UInt8>) -> Marker? {
        guard let end = marker("END ", in: text), end.label == label else { return nil }
        return text[..<end.start].firstRange(of: dashes) == nil ? end : nil
    }
}

extension PEM.Block {
    /// Whether the headers say that the contents are encrypted (RFC 1421, 4.6.1.1), or the label does (RFC 7468, 11).
    var isEncrypted: Bool {
        label == PEM.encryptedKey || headers.firstRange(of: "ENCRYPTED".utf8) != nil
    }

    /// The headers of RFC 1421; empty if there are none. Base64 has no colon.
    private var headers: ArraySlice<UInt8> {
        guard let colon = body.firstIndex(of: UInt8(ascii: ":")) else { return [] }
        // They end with an empty line. Without one, the block has no contents.
        var isEmpty = false
        for index in body[colon...].indices {
            switch body[index] {
            case UInt8(ascii: "\n"):
                if isEmpty { return body[..<index] }
                isEmpty = true
            case ...UInt8(ascii: " "): break
            default: isEmpty = false
            }
        }
        return body[...]
    }

    /// The contents.
    var der: [UInt8] {
        get throws(TrustError) {
            let base64 = body[headers.endIndex...].filter { $0 > UInt8(ascii: " ") }
            if base64.firstRange(of: #"\n"#.utf8) != nil {
                throw TrustError(
                    .malformed,
                    #"The \#(label) has \n where its lines end: write real line breaks in place of these two characters."#
                )
            }
            guard let data = Data(base64Encoded: Data(base64)), !data.isEmpty else {
                throw TrustError(.malformed, "The \(label) is damaged: its contents are not Base64.")
            }
            return Array(data)
        }
    }
}
