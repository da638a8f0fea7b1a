import Delivery
import NIOCore
import Notifications

/// Writes an entry in the format of the feedback service (Guide, Table A-5).
enum FeedbackTuple {
    /// The size of an entry in bytes: the timestamp, the length, and a device token of the usual length.
    static let byteCount = 4 + 2 + DeviceToken.byteCount

    /// - Parameter clock: converts the entry's time from the service's clock to the provider's.
    static func write(_ entry: ListedFeedback, to buffer: inout ByteBuffer, clock: ServiceClock) {
        let moment = clock.clientTime(of: entry.moment)
        // fits: DeviceToken.lengths ends at 100
        buffer.writeMultipleIntegers(UInt32(clamping: moment.seconds), UInt16(entry.token.count))
        buffer.writeBytes(entry.token.array)
    }
}
