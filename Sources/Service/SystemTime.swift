import Foundation
package import Notifications

extension Timestamp {
    /// The system's time.
    package static func now() -> Timestamp {
        Timestamp(milliseconds: UInt64(max(0, Date().timeIntervalSince1970 * 1000)))
    }
}
