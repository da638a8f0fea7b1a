import Notifications
import Testing

@testable import ServiceTesting

/// A row of the table of rejections: a fault of a request, and the answer.
struct FaultyRequest: Sendable, CustomTestStringConvertible {
    let name: String
    let status: Int
    let reason: String
    let spoil: @Sendable (inout WirePush, ProviderSituation, Environment) throws -> Void

    init(
        _ name: String,
        _ status: Int,
        _ reason: String,
        _ spoil: @escaping @Sendable (inout WirePush, ProviderSituation, Environment) throws -> Void,
    ) {
        self.name = name
        self.status = status
        self.reason = reason
        self.spoil = spoil
    }

    /// A header's value is wrong.
    init(_ header: String, _ value: String?, _ status: Int, _ reason: String) {
        let shown = value.map { $0.count > 40 ? "\($0.prefix(20))… (\($0.utf8.count) bytes)" : $0 }
        self.init("\(header): \(shown ?? "none")", status, reason) { push, _, _ in push[header] = value }
    }

    /// A header occurs twice.
    /// - Parameter value: nil for the value of a valid request.
    init(twice header: String, _ value: String? = nil) {
        self.init("two \(header)", 400, "DuplicateHeaders") { push, _, _ in
            let value = try required(value ?? push[header])
            push[header] = nil
            push.headers += [(header, value), (header, value)]
        }
    }

    /// The path is wrong.
    init(path: String, _ status: Int, _ reason: String) {
        self.init(path, status, reason) { push, _, _ in push.path = path }
    }

    /// The body is wrong.
    init(body: String, _ status: Int, _ reason: String) {
        self.init("the body \(body.debugDescription)", status, reason) { push, _, _ in push.payload(body) }
    }

    /// The provider token is wrong.
    init(
        token name: String,
        _ reason: String = "InvalidProviderToken",
        _ make: @escaping @Sendable (Provider) throws -> String,
    ) {
        self.init("a provider token \(name)", 403, reason) { push, situation, _ in
            push["authorization"] = "bearer " + (try make(situation.provider))
        }
    }

    var testDescription: String { "\(status) \(reason): \(name)" }
}
