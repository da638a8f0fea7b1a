import Delivery
import NIOCore
import Notifications

/// An entry as the feedback service sends it (Guide, Table A-5).
enum FeedbackTuple {
    /// In bytes: the timestamp, the length and the device token of the usual length.
    static let byteCount = 4 + 2 + DeviceToken.byteCount

    static func write(_ entry: TakenFeedback, to buffer: inout ByteBuffer) {
        buffer.writeMultipleIntegers(UInt32(clamping: entry.moment.seconds), UInt16(entry.token.count))
        buffer.writeBytes(entry.token.array)
    }
}
