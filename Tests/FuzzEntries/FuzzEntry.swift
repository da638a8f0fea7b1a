@testable import BinaryGateway
import Connections
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
    case providerClaims = "provider-claims"
    case acknowledgement
    case deviceRequest = "device-request"
    case binary
    case clientHello = "client-hello"

    /// Reads the bytes. Stops the process where a promise about what was read is broken.
    package func run(_ bytes: [UInt8]) {
        switch self {
        case .payload: Self.readPayload(bytes)
        case .jsonObject: Self.readObject(bytes)
        case .headers: Self.readHeaders(bytes)
        case .providerToken: Self.readProviderToken(bytes)
        case .providerClaims: Self.readProviderClaims(bytes)
        case .acknowledgement: Self.readAcknowledgement(bytes)
        case .deviceRequest: Self.readDeviceRequest(bytes)
        case .binary: Self.readBinary(bytes)
        case .clientHello: Self.readClientHello(bytes)
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
            _ = object[text: key]
            _ = object[double: key]
            _ = object[object: key]
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

    /// The value of an `authorization` header as it comes. One key is known.
    private static func readProviderToken(_ bytes: [UInt8]) {
        for conformance in Conformance.allCases { _ = verify(bytes, conformance) }
    }

    /// Header and claims, a line each, signed with the known key: whatever they say, nobody is let in as somebody else, nor
    /// outside the token's time.
    private static func readProviderClaims(_ bytes: [UInt8]) {
        let parts = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return }
        let authorization = FuzzKey.authorization(header: Array(parts[0]), claims: Array(parts[1]))
        let (apple, strict) = (verify(authorization, .apple), verify(authorization, .strict))
        // What the documents allow is allowed in practice, and means the same.
        guard let strict else { return }
        precondition(apple?.team == strict.team && apple?.key == strict.key && apple?.issuedAt == strict.issuedAt)
    }

    /// What a header that is good says, which only the known key's holder can have said.
    private static func verify(_ authorization: [UInt8], _ conformance: Conformance) -> VerifiedProviderToken? {
        let rules = ProviderTokenRules(conformance: conformance)
        let verified = try? rules.verify(
            authorization: authorization.span, environment: .development, now: FuzzKey.now,
            key: { $0 == FuzzKey.known.id ? FuzzKey.known : nil })
        guard let verified else { return nil }
        precondition(verified.key == FuzzKey.known.id && verified.team == FuzzKey.known.team)
        precondition(FuzzKey.now - verified.issuedAt <= ProviderTokenRules.lifetime)
        precondition(verified.issuedAt - FuzzKey.now <= ProviderTokenRules.clockTolerance)
        return verified
    }

    /// Whether the value of an `authorization` header is a good provider token of the known key.
    package static func isGood(_ authorization: [UInt8]) -> Bool { verify(authorization, .apple) != nil }

    private static func readAcknowledgement(_ bytes: [UInt8]) {
        guard let numbers = AcknowledgementReader.read(bytes.span) else { return }
        precondition(numbers.allSatisfy { $0 <= 1 << 53 } && numbers.count <= AcknowledgementReader.maximumCount)
    }

    private static func readDeviceRequest(_ bytes: [UInt8]) {
        var request = DeviceRequest(began: .uptimeNanoseconds(0))
        let lines = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 1)
        request.method = lines.first.map { String(decoding: $0, as: UTF8.self) } ?? ""
        request.path = lines.dropFirst().first.map { String(decoding: $0, as: UTF8.self) } ?? ""
        // A refusal is as good an answer as any.
        request.decide()
    }

    /// However the stream is cut, it says the same, and no more of it is kept than one notification. The first byte says
    /// how it is cut.
    private static func readBinary(_ bytes: [UInt8]) {
        guard let first = bytes.first else { return }
        let stream = Array(bytes.dropFirst())
        let whole = decode([stream])
        let length = Int(first) + 1
        let pieces = stride(from: 0, to: stream.count, by: length).map {
            Array(stream[$0..<min($0 + length, stream.count)])
        }
        let cut = decode(pieces)
        precondition(whole.notifications == cut.notifications && whole.fault == cut.fault)
        for notification in whole.notifications {
            precondition(notification.payload.json.count <= notification.command.maximumPayloadBytes)
        }
    }

    private static func decode(_ pieces: [[UInt8]]) -> (notifications: [BinaryNotification], fault: BinaryFault?) {
        var decoder = BinaryDecoder()
        var notifications: [BinaryNotification] = []
        for piece in pieces {
            var position = 0
            do throws(BinaryFault) {
                while let notification = try decoder.next(piece.span, &position) { notifications.append(notification) }
            } catch {
                return (notifications, error)
            }
        }
        return (notifications, nil)
    }

    private static func readClientHello(_ bytes: [UInt8]) {
        guard case .hello(let hello) = ClientHello.read(ByteBuffer(bytes: bytes)) else { return }
        precondition((hello.serverName?.utf8.count ?? 0) <= 3 * bytes.count && hello.protocols.count <= bytes.count)
    }
}
