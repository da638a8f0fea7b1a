import Delivery
import Notifications

/// Parses the power state that a device reports, the body of `POST /1/state`.
enum PowerState {
    /// - Returns: nil unless the body is `{"power":"low"|"awake"|"charging"}`.
    static func read(_ body: [UInt8]) -> DevicePower? {
        JSONObject(body)?[text: "power"].flatMap(DevicePower.init(rawValue:))
    }
}
