package import Delivery
import Foundation
package import Notifications

extension Timestamp {
    /// The system's time.
    package static func now() -> Timestamp {
        Timestamp(milliseconds: UInt64(max(0, Date().timeIntervalSince1970 * 1000)))
    }
}

extension Moment {
    /// The time of the system's clocks.
    package static func now() -> Moment {
        Moment(time: .now(), uptime: Uptime(nanoseconds: DispatchTime.now().uptimeNanoseconds))
    }
}
