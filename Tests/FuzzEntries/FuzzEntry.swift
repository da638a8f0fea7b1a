@testable import Courier
import NIOCore
import Notifications
@testable import ProviderGateway
import Trust

/// The ways in for bytes from strangers. The fuzzer calls them with whatever it finds; the tests call them with the
/// corpus, so that what crashed once never does again.
package enum FuzzEntry: String, CaseIterable, Sendable {
    case payload
    case jsonObject = "json-object"
    case headers
    case providerToken = "provider-token"
    case acknowledgement
    case deviceRequest = "device-request"

    /// Reads the bytes. Stops the process where a promise about what was read is broken.
    package func run(_ bytes: [UInt8]) {
        switch self {
        case .payload: Self.readPayload(bytes)
        case .jsonObject: Self.readObject(bytes)
        case .headers: Self.readHeaders(bytes)
        case .providerToken: Self.readProviderToken(bytes)
        case .acknowledgement: Self.readAcknowledgement(bytes)
        case .deviceRequest: Self.readDeviceRequest(bytes)
        }
    }

    /// What was read is on one line, and reads as the same again.
    private static func readPayload(_ bytes: [UInt8]) {
        guard let payload = try? Payload(bytes) else { return }
        precondition(!payload.json.contains(UInt8(ascii: "\n")) && payload.json.count <= bytes.count)
        guard let again = try? Payload(payload.json) else { preconditionFailure("A payload that was read is none.") }
        precondition(again == payload)
    }

    private static func readObject(_ bytes: [UInt8]) {
        guard let object = JSONObject(bytes) else { return }
        for key in ["aps", "sending", "payload", ""] {
            if let raw = object[raw: key] { precondition(raw.count < bytes.count) }
            _ = object[number: key]
            _ = object[plain: key]
        }
    }

    /// Lines of `name=value`; a name may begin with a colon.
    private static func readHeaders(_ bytes: [UInt8]) {
        var request = ProviderRequest(began: .uptimeNanoseconds(0))
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            let parts = line.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            let (name, value) = (Array(parts[0]), parts.count > 1 ? Array(parts[1]) : [])
            guard let header = RequestHeader(name: name.span) else { continue }
            request.note(header)
            request.read(header, value.span)
        }
        if case .value(let identifier) = request.collapseID {
            precondition(identifier.rawValue.utf8.count <= CollapseIdentifier.maximumBytes)
        }
    }

    /// No key is known, so nothing can be verified.
    private static func readProviderToken(_ bytes: [UInt8]) {
        for conformance in Conformance.allCases {
            let rules = ProviderTokenRules(conformance: conformance)
            let verified = try? rules.verify(
                authorization: bytes.span, environment: .development, now: 1_800_000_000, key: { _ in nil })
            precondition(verified == nil)
        }
    }

    private static func readAcknowledgement(_ bytes: [UInt8]) {
        guard let numbers = SendingsReader.read(bytes) else { return }
        precondition(numbers.allSatisfy { $0 <= 1 << 53 } && numbers.count <= SendingsReader.maximumCount)
    }

    private static func readDeviceRequest(_ bytes: [UInt8]) {
        var request = DeviceRequest(began: .uptimeNanoseconds(0))
        let lines = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 1)
        request.method = lines.first.map { String(decoding: $0, as: UTF8.self) } ?? ""
        request.path = lines.dropFirst().first.map { String(decoding: $0, as: UTF8.self) } ?? ""
        // A refusal is as good an answer as any.
        _ = try? request.action()
    }
}
