import Foundation

/// What a device says of its power, which decides when notifications of priority 5 are sent to it.
enum PowerState: String, Decodable, Equatable {
    case low
    case awake
    case charging

    private struct Body: Decodable {
        let power: PowerState
    }

    /// - Returns: nil unless the body is `{"power":"low"|"awake"|"charging"}`.
    init?(body: [UInt8]) {
        // Why it cannot be read, the answer says in general.
        guard let body = try? JSONDecoder().decode(Body.self, from: Data(body)) else { return nil }
        self = body.power
    }
}
