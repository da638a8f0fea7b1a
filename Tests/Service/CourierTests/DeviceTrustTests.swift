import CommonTesting
import APNSDevice
import Credentials
import Crypto
import Foundation
import HTTP2
import NIOCore
import Management
import Notifications
import Service
import Testing

@testable import ServiceTesting

/// Which clients are trusted as devices, for how long, and which device tokens they get (Guide, 2.1.4.4), over real
/// TLS.
@Suite(.timeLimit(.minutes(2)))
struct DeviceTrustTests {
    private func headers(_ method: String, _ path: String, _ more: (String, String)...) -> [(String, String)] {
        [(":method", method), (":scheme", "https"), (":authority", "localhost"), (":path", path)] + more
    }

    private func register(_ client: WireClient) async throws -> String {
        let answer = try await client.send(headers("PUT", "/1/apps/com.example.app"), body: "")
        return try required(answer.body.split(separator: "\"").dropFirst(3).first.map(String.init))
    }

    private func push(_ token: String, _ test: TestService) async throws -> WireClient.Answer {
        let client = try await test.connectProvider()
        let answer = try await client.send(ProviderHeaders(token, token: try test.providerToken()).fields)
        await client.close()
        return answer
    }

    // MARK: Activation

    @Test func `In production, a device needs a code, which works once and only in its environment`() async throws {
        try await TestService.run(environment: .production) { test in
            let request = try SigningRequest.pem(for: P256.Signing.PrivateKey())
            let invitation: ManagementMessages.InvitationMade = try await test.administer(
                "POST", "/v1/invitations", ManagementMessages.NewInvitation(environment: "production"))
            let other: ManagementMessages.InvitationMade = try await test.administer(
                "POST", "/v1/invitations", ManagementMessages.NewInvitation(environment: "development"))
            let client = try await test.connectCourier()
            let activation = headers("POST", "/1/activations")
            let codes = [nil, "NOSUCHCODE", other.code, invitation.code, invitation.code]
            var statuses: [Int] = []
            for code in codes {
                let fields = activation + (code.map { [("activation-code", $0)] } ?? [])
                let isAgain = statuses.contains(200)
                let body = isAgain ? try SigningRequest.pem(for: P256.Signing.PrivateKey()) : request
                statuses.append(try await client.send(fields, body: body).status)
            }
            #expect(statuses == [403, 403, 403, 200, 403])
            await client.close()
        }
    }

    @Test func `The same code with the same key gets the same certificate, until the code would have expired`()
        async throws
    {
        try await TestService.run(environment: .production) { test in
            let invitation: ManagementMessages.InvitationMade = try await test.administer(
                "POST", "/v1/invitations", ManagementMessages.NewInvitation(environment: "production"))
            let key = P256.Signing.PrivateKey()
            let activation = headers("POST", "/1/activations", ("activation-code", invitation.code))
            func activate(_ key: P256.Signing.PrivateKey) async throws -> WireClient.Answer {
                let client = try await test.connectCourier()
                // Each request has another signature.
                let answer = try await client.send(activation, body: try SigningRequest.pem(for: key))
                await client.close()
                return answer
            }
            let first = try await activate(key)
            #expect(first.status == 200)
            let again = try await activate(key)
            #expect((again.status, again.body) == (200, first.body))
            #expect(again["device-id"] == first["device-id"])
            #expect(try await activate(P256.Signing.PrivateKey()).status == 403)
            // At once, on connections of their own.
            let more = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<4 { group.addTask { try await activate(key).body } }
                return try await group.reduce(into: Set()) { $0.insert($1) }
            }
            #expect(more == [first.body])
            let _: ManagementMessages.RevokedDevice = try await test.administer(
                "DELETE", "/v1/devices/\(first["device-id"] ?? "")?environment=production")
            let revoked = try await activate(key)
            #expect(revoked.status == 403 && revoked.body.contains("was revoked"))
        }
    }

    @Test func `An invalid request does not use a code up`() async throws {
        try await TestService.run(environment: .production) { test in
            let invitation: ManagementMessages.InvitationMade = try await test.administer(
                "POST", "/v1/invitations", ManagementMessages.NewInvitation(environment: "production"))
            let client = try await test.connectCourier()
            let activation = headers("POST", "/1/activations", ("activation-code", invitation.code))
            #expect(try await client.send(activation, body: "nothing").status == 400)
            let request = try SigningRequest.pem(for: P256.Signing.PrivateKey())
            #expect(try await client.send(activation, body: request).status == 200)
            await client.close()
        }
    }

    @Test func `A withdrawn code does not work, on a connection from before either, and another one does`() async throws
    {
        try await TestService.run(environment: .production) { test in
            func invite() async throws -> ManagementMessages.InvitationMade {
                try await test.administer(
                    "POST", "/v1/invitations", ManagementMessages.NewInvitation(environment: "production"))
            }
            func activate(_ code: String, _ client: WireClient) async throws -> Int {
                let request = try SigningRequest.pem(for: P256.Signing.PrivateKey())
                return try await client.send(
                    headers("POST", "/1/activations", ("activation-code", code)), body: request
                ).status
            }
            let (lost, kept, used) = (try await invite(), try await invite(), try await invite())
            let before = try await test.connectCourier()
            #expect(try await activate(used.code, before) == 200)
            let withdrawn: ManagementMessages.Invitation = try await test.administer(
                "DELETE", "/v1/invitations/\(lost.id)")
            #expect(withdrawn.id == lost.id && withdrawn.environment == "production")
            #expect(withdrawn.expires == lost.expires)
            let after = try await test.connectCourier()
            for client in [before, after] { #expect(try await activate(lost.code, client) == 403) }
            #expect(try await activate(kept.code, before) == 200)
            // Nothing is left to withdraw, and the code in place of the ID finds nothing.
            for (id, status) in [(lost.id, 404), (used.id, 404), (kept.code, 400)] {
                #expect(try await test.manage("DELETE", "/v1/invitations/\(id)").status == status)
            }
            await before.close()
            await after.close()
        }
    }

    @Test func `A code works after a restart`() async throws {
        try await TestService.runTwice(environment: .production) { test in
            let invitation: ManagementMessages.InvitationMade = try await test.administer(
                "POST", "/v1/invitations", ManagementMessages.NewInvitation(environment: "production"))
            return invitation.code
        } _: { test, code in
            let client = try await test.connectCourier()
            let request = try SigningRequest.pem(for: P256.Signing.PrivateKey())
            let answer = try await client.send(
                headers("POST", "/1/activations", ("activation-code", code)), body: request)
            #expect(answer.status == 200)
            await client.close()
        }
    }

    // MARK: Certificates

    @Test func `A device renews its certificate with the old one, and stays the same device`() async throws {
        try await TestService.run { test in
            let old = try await test.makeDeviceCertificate()
            let client = try await test.connectCourier(old)
            let token = try await register(client)
            let key = P256.Signing.PrivateKey()
            let renewal = try await client.send(
                headers("POST", "/1/renewals"), body: try SigningRequest.pem(for: key))
            #expect(renewal.status == 200)
            await client.close()
            let renewed = try await test.connectCourier(
                ClientCertificate(chainPEM: renewal.body, keyPEM: key.pemRepresentation))
            #expect(try await register(renewed) == token)
            await renewed.close()
        }
    }

    @Test func `A device that renews too often is refused, and others are not`() async throws {
        try await TestService.run { test in
            let (one, other) = (try await test.makeDeviceCertificate(), try await test.makeDeviceCertificate())
            let (client, patient) = (try await test.connectCourier(one), try await test.connectCourier(other))
            let request = try SigningRequest.pem(for: P256.Signing.PrivateKey())
            var statuses: [Int] = []
            for _ in 0..<6 {
                statuses.append(try await client.send(headers("POST", "/1/renewals"), body: request).status)
            }
            #expect(statuses == [200, 200, 200, 200, 200, 429])
            #expect(try await patient.send(headers("POST", "/1/renewals"), body: request).status == 200)
            await client.close()
            await patient.close()
        }
    }

    @Test(.startsPrograms, arguments: ["sha1", "weak", "tampered", "none", "long"])
    func `A bad certificate request does not make a device`(fault: String) async throws {
        try await TestService.run { test in
            let good = try SigningRequest.pem(for: P256.Signing.PrivateKey())
            let body =
                switch fault {
                case "sha1": try await OpenSSLRequest.make(["-newkey", "rsa:2048", "-sha1"])
                case "weak": try await OpenSSLRequest.make(["-newkey", "rsa:1024"])
                case "tampered": try OpenSSLRequest.tampered(good)
                case "long": good + String(repeating: " ", count: 10_000)
                default: "nothing"
                }
            let client = try await test.connectCourier()
            let answer = try await client.send(headers("POST", "/1/activations"), body: body)
            #expect(answer.status == (fault == "long" ? 413 : 400))
            #expect(try await client.send(headers("POST", "/1/activations"), body: good).status == 200)
            await client.close()
        }
    }

    @Test func `Anybody may read the list of revoked provider certificates`() async throws {
        try await TestService.run { test in
            let client = try await test.connectCourier()
            let answer = try await client.send(headers("GET", "/1/crl"), body: "")
            #expect(answer.status == 200 && answer.body.hasPrefix("-----BEGIN X509 CRL-----"))
            await client.close()
        }
    }

    @Test func `Renewal needs a certificate`() async throws {
        try await TestService.run { test in
            let client = try await test.connectCourier()
            let answer = try await client.send(headers("POST", "/1/renewals"), body: "")
            #expect(answer.status == 403 && answer.reason == "Forbidden")
            await client.close()
        }
    }

    @Test func `Revoking a device ends its stream, its connection and its registrations`() async throws {
        try await TestService.run { test in
            let certificate = try await test.makeDeviceCertificate()
            let client = try await test.connectCourier(certificate)
            let token = try await register(client)
            async let stream = client.send(headers("GET", "/1/notifications"), body: "")
            let accepted = try await push(token, test)
            #expect(accepted.status == 200)
            let id = try await test.deviceID(of: certificate)
            let _: ManagementMessages.RevokedDevice = try await test.administer(
                "DELETE", "/v1/devices/\(id)?environment=development")
            let lines = try await stream.body
            #expect(lines.contains(#"{"end":"revoked"}"#))
            #expect(try await client.goAways() == [#"{"reason":"BadCertificate"}"#])
            let gone = try await push(token, test)
            #expect(gone.status == 410 && gone.reason == "Unregistered")
            let again = try await test.connectCourier(certificate)
            #expect(await !again.isServed(headers("PUT", "/1/apps/com.example.app")))
        }
    }

    // MARK: Device tokens

    @Test func `After a reset the old token is Unregistered, and registering gives a new one`() async throws {
        try await TestService.run { test in
            let client = try await test.connectCourier(test.makeDeviceCertificate())
            let old = try await register(client)
            #expect(try await client.send(headers("POST", "/1/reset"), body: "").status == 204)
            let refused = try await push(old, test)
            #expect(refused.status == 410 && refused.reason == "Unregistered")
            let new = try await register(client)
            #expect(new != old)
            #expect(try await push(new, test).status == 200)
            #expect(try await push(old, test).status == 410)
            await client.close()
        }
    }

    @Test func `After a reset the device does not get what waited for its power`() async throws {
        try await TestService.run { test in
            let client = try await test.connectCourier(test.makeDeviceCertificate())
            let old = try await register(client)
            let stream = try await client.open(headers("GET", "/1/notifications"), endStream: true)
            #expect(try await client.send(headers("POST", "/1/state"), body: #"{"power":"low"}"#).status == 204)
            let (waiting, urgent) = (UUID().uuidString.lowercased(), UUID().uuidString.lowercased())
            let provider = try await test.connectProvider()
            // A stream that begins takes what waits for power too. After the first line, it has begun.
            let token = try test.providerToken()
            let first = ProviderHeaders(old, token: token)
            #expect(try await provider.send(first.fields).status == 200)
            #expect(try await stream.nextLine()?.isEmpty == false)
            let push = ProviderHeaders(old, token: token).adding("apns-priority", "5")
                .adding("apns-id", waiting)
            #expect(try await provider.send(push.fields).status == 200)
            #expect(try await client.send(headers("POST", "/1/reset"), body: "").status == 204)
            let again = ProviderHeaders(try await register(client), token: token).adding("apns-id", urgent)
            #expect(try await provider.send(again.fields).status == 200)
            // An urgent notification takes along all that waits.
            var line = ""
            while line.isEmpty { line = try required(try await stream.nextLine()) }
            #expect(line.contains(urgent) && !line.contains(waiting), "\(line)")
            await provider.close()
            await client.close()
        }
    }

    @Test func `A new token key seals new tokens, and those given out stay good, across a restart too`() async throws {
        try await TestService.runTwice { test in
            let device = try await test.makeDeviceCertificate()
            let client = try await test.connectCourier(device)
            let before = try await register(client)
            let rotated: ManagementMessages.TokenKey = try await test.administer("POST", "/v1/token-keys")
            #expect(rotated.tokenKeyID == 2)
            let other = try await test.connectCourier(test.makeDeviceCertificate())
            let after = try await register(other)
            let again = try await register(client)
            #expect(again == before)
            let statuses = [try await push(before, test).status, try await push(after, test).status]
            #expect(statuses == [200, 200])
            await client.close()
            await other.close()
            return [before, after]
        } _: { test, tokens in
            let statuses = [try await push(tokens[0], test).status, try await push(tokens[1], test).status]
            #expect(statuses == [200, 200])
        }
    }

    @Test func `A device token that was tampered with is refused`() async throws {
        try await TestService.run { test in
            let client = try await test.connectCourier(test.makeDeviceCertificate())
            let token = try await register(client)
            await client.close()
            let flipped = String(token.dropLast()) + (token.hasSuffix("0") ? "1" : "0")
            for bad in [flipped, String(token.dropLast(2)), token + "00"] {
                let answer = try await push(bad, test)
                #expect(answer.status == 400 && answer.reason == "BadDeviceToken")
            }
        }
    }
}
