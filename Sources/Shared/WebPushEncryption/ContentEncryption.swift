import Crypto
import Foundation

/// The content coding `aes128gcm` (RFC 8188): a header, and records that are encrypted with one key.
package enum ContentEncryption {
    /// The header of the content (RFC 8188, 2.1).
    struct Header {
        let salt: [UInt8]
        /// The size of each record but the last, in bytes, with its tag.
        let recordSize: Int
        let keyID: ArraySlice<UInt8>
        let records: ArraySlice<UInt8>

        init(_ content: ArraySlice<UInt8>) throws(WebPushEncryptionError) {
            let header = Array(content.prefix(WebPushLimits.headerBytes))
            guard header.count == WebPushLimits.headerBytes else {
                throw WebPushEncryptionError(.truncated, "The content ends before its header does.")
            }
            salt = Array(header[..<WebPushLimits.saltBytes])
            let size = header[WebPushLimits.saltBytes..<WebPushLimits.saltBytes + 4].reduce(0 as UInt32) {
                $0 << 8 | UInt32($1)
            }
            guard size >= WebPushLimits.smallestRecord else {
                throw WebPushEncryptionError(.badRecordSize, "The record size is less than 18 bytes.")
            }
            recordSize = Int(clamping: size)
            let rest = content.dropFirst(WebPushLimits.headerBytes)
            let length = Int(clamping: header[WebPushLimits.headerBytes - 1])
            guard rest.count >= length else {
                throw WebPushEncryptionError(.truncated, "The content ends before its header does.")
            }
            (keyID, records) = (rest.prefix(length), rest.dropFirst(length))
        }
    }

    /// Decrypts content whose key both sides know (RFC 8188, 2 and 3).
    /// - Parameters:
    ///   - content: at most ``WebPushLimits/bodyBytes``.
    ///   - key: the input keying material.
    package static func decrypt(_ content: [UInt8], key: [UInt8]) throws(WebPushEncryptionError) -> [UInt8] {
        try checkLength(content)
        let header = try Header(content[...])
        return try decrypt(header, key: key)
    }

    static func checkLength(_ content: [UInt8]) throws(WebPushEncryptionError) {
        guard content.count <= WebPushLimits.bodyBytes else {
            throw WebPushEncryptionError(.tooLong, "The content has more than \(WebPushLimits.bodyBytes) bytes.")
        }
    }

    static func decrypt(_ header: Header, key: [UInt8]) throws(WebPushEncryptionError) -> [UInt8] {
        let keys = RecordKeys(
            key: key, salt: header.salt, info: "Content-Encoding: aes128gcm\0", "Content-Encoding: nonce\0")
        var (text, rest, number): ([UInt8], ArraySlice<UInt8>, UInt64) = ([], header.records, 0)
        repeat {
            let isLast = rest.count <= header.recordSize
            let record = try keys.open(rest.prefix(header.recordSize), number: number)
            rest = rest.dropFirst(header.recordSize)
            number += 1
            // The padding is zeros after the delimiter, which is 2 in the last record and 1 in the others.
            guard let end = record.lastIndex(where: { $0 != 0 }), record[end] == (isLast ? 2 : 1) else {
                throw WebPushEncryptionError(.badPadding, "A record has no delimiter, or one of the other kind.")
            }
            text += record[..<end]
        } while !rest.isEmpty
        return text
    }

    /// Encrypts a text as content of one record.
    /// - Parameter padding: the number of zeros after the text.
    static func encrypt(
        _ text: [UInt8],
        key: [UInt8],
        salt: [UInt8],
        keyID: [UInt8],
        padding: Int,
    ) throws(WebPushEncryptionError) -> [UInt8] {
        let record = text + [2] + [UInt8](repeating: 0, count: max(0, padding))
        let length = WebPushLimits.headerBytes + keyID.count + record.count + WebPushLimits.tagBytes
        guard length <= WebPushLimits.bodyBytes else {
            throw WebPushEncryptionError(
                .tooLong, "The encrypted message would have \(length) bytes; \(WebPushLimits.bodyBytes) are allowed.")
        }
        let keys = RecordKeys(key: key, salt: salt, info: "Content-Encoding: aes128gcm\0", "Content-Encoding: nonce\0")
        let size = UInt32(clamping: WebPushLimits.recordBytes)
        let header = salt + (0..<4).map { UInt8(truncatingIfNeeded: size >> (24 - 8 * UInt32($0))) }  // fits: 0 to 3
        return header + [UInt8(clamping: keyID.count)] + keyID + (try keys.seal(record))
    }
}
