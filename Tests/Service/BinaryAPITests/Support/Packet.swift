import Notifications

/// Builds notifications of all formats field by field, so that a test can make one field invalid.
enum Packet {
    static let token = [UInt8](0..<32)
    static let payload = Array(#"{"aps":{"alert":"Hello"}}"#.utf8)

    static func legacy(token: [UInt8] = token, payload: [UInt8] = payload) -> [UInt8] {
        [0] + int16(token.count) + token + int16(payload.count) + payload
    }

    static func enhanced(
        _ identifier: UInt32 = 1,
        expiration: UInt32 = 0,
        token: [UInt8] = token,
        payload: [UInt8] = payload,
    ) -> [UInt8] {
        [1] + int32(identifier) + int32(expiration) + int16(token.count) + token + int16(payload.count) + payload
    }

    /// A frame of the given items.
    static func frame(_ items: [[UInt8]]) -> [UInt8] {
        let data = items.flatMap(\.self)
        return [2] + int32(UInt32(data.count)) + data
    }

    /// A frame with the items that are not nil.
    static func items(
        _ identifier: UInt32? = 1,
        expiration: UInt32? = nil,
        priority: UInt8? = nil,
        token: [UInt8]? = token,
        payload: [UInt8]? = payload,
    ) -> [UInt8] {
        frame(
            [
                token.map { item(1, $0) }, payload.map { item(2, $0) }, identifier.map { item(3, int32($0)) },
                expiration.map { item(4, int32($0)) }, priority.map { item(5, [$0]) },
            ].compactMap(\.self))
    }

    static func item(_ number: UInt8, _ data: [UInt8]) -> [UInt8] { [number] + int16(data.count) + data }

    static func int16(_ value: Int) -> [UInt8] { [UInt8(value >> 8 & 0xff), UInt8(value & 0xff)] }

    static func int32(_ value: UInt32) -> [UInt8] {
        [UInt8(value >> 24), UInt8(value >> 16 & 0xff), UInt8(value >> 8 & 0xff), UInt8(value & 0xff)]
    }

    /// A JSON dictionary of exactly this many bytes.
    static func payload(bytes: Int) -> [UInt8] {
        let frame = #"{"aps":{"alert":""}}"#
        return Array(#"{"aps":{"alert":""#.utf8) + [UInt8](repeating: 97, count: bytes - frame.utf8.count)
            + Array(#""}}"#.utf8)
    }
}
