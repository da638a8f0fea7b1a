package import Delivery
import Foundation
package import Notifications

extension Timestamp {
    /// The time of the system's clock.
    package static func now() -> Timestamp {
        Timestamp(milliseconds: UInt64(max(0, Date().timeIntervalSince1970 * 1000)))  // fits: the machine's clock
    }
}

extension Moment {
    /// The time of the system's clock, and the machine's uptime.
    package static func now() -> Moment {
        Moment(time: .now(), uptime: Uptime(nanoseconds: DispatchTime.now().uptimeNanoseconds))
    }
}
