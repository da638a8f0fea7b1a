import Notifications
import Testing

@testable import ServiceTesting

/// A request that differs from what most clients send, and is accepted.
struct UnusualRequest: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let change: @Sendable (inout WirePush, ProviderSituation, Environment) throws -> Void

    init(
        _ name: String,
        _ change: @escaping @Sendable (inout WirePush, ProviderSituation, Environment) throws -> Void,
    ) {
        testDescription = name
        self.change = change
    }

    /// Makes a request with this header.
    init(_ header: String, _ value: String) {
        self.init("\(header): \(value.prefix(40))") { push, _, _ in push[header] = value }
    }

    /// Makes a request with this body.
    init(body: String) {
        self.init("the body \(body.debugDescription)") { push, _, _ in push.payload(body) }
    }
}
