import Delivery
import Foundation

/// Reads what a device says of its power: the body of `POST /1/state`.
struct PowerState: Decodable {
    let power: String

    /// - Returns: nil unless the body is `{"power":"low"|"awake"|"charging"}`.
    static func read(_ body: [UInt8]) -> DevicePower? {
        // Why it cannot be read, the answer says in general.
        guard let body = try? JSONDecoder().decode(PowerState.self, from: Data(body)) else { return nil }
        switch body.power {
        case "low": return .low
        case "awake": return .awake
        case "charging": return .charging
        default: return nil
        }
    }
}
