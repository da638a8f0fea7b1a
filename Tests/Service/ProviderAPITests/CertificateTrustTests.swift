import Foundation
import HTTP2
import Management
import Service
import Testing

@testable import ServiceTesting

/// Connection trust by a provider certificate (Guide, 2.1.4.3, 2.3.2 and 2.3.3), over real TLS.
@Suite(.timeLimit(.minutes(2)))
struct CertificateTrustTests {
    @Test func `With a certificate no provider token is needed, and the full number of streams is allowed at once`()
        async throws
    {
        try await TestService.run { test in
            let token = try await test.makeDeviceToken()
            let client = try await test.connectProvider(test.makeCertificate())
            try await client.announced(1000)
            #expect(try await client.send(ProviderHeaders(token, token: nil).fields).status == 200)
            #expect(try await client.announcements() == [1000])
            await client.close()
        }
    }

    @Test func `With a certificate the authorization header is ignored`() async throws {
        try await TestService.run { test in
            let token = try await test.makeDeviceToken()
            let client = try await test.connectProvider(test.makeCertificate())
            let headers = ProviderHeaders(token, token: "not.a.token").adding("authorization", "twice")
            #expect(try await client.send(headers.fields).status == 200)
            await client.close()
        }
    }

    @Test func `If a certificate has several topics, the header has to name one`() async throws {
        try await TestService.run { test in
            let token = try await test.makeDeviceToken()
            let client = try await test.connectProvider(test.makeCertificate())
            let headers = ProviderHeaders(token, token: nil)
            #expect(try await client.send(headers.with("apns-topic", nil).fields).reason == "MissingTopic")
            #expect(try await client.send(headers.with("apns-topic", "com.example.app.voip").fields).status == 200)
            await client.close()
        }
    }

    @Test func `If a certificate has one topic, it is the default`() async throws {
        try await TestService.run { test in
            let token = try await test.makeDeviceToken()
            let client = try await test.connectProvider(test.makeCertificate(listsTopics: false))
            let headers = ProviderHeaders(token, token: nil).with("apns-topic", nil)
            #expect(try await client.send(headers.fields).status == 200)
            #expect(try await client.send(headers.with("apns-push-type", "mdm").fields).status == 200)
            await client.close()
        }
    }

    @Test(arguments: ["com.example.other", "com.example.app.location-query", "com.example.app.push-type.widgets"])
    func `A topic that the certificate does not list is TopicDisallowed`(topic: String) async throws {
        try await TestService.run { test in
            let token = try await test.makeDeviceToken()
            let client = try await test.connectProvider(test.makeCertificate())
            let answer = try await client.send(ProviderHeaders(token, topic: topic, token: nil).fields)
            #expect(answer.status == 400 && answer.reason == "TopicDisallowed")
            await client.close()
        }
    }

    @Test func `The push type mdm is allowed only with the certificate's UID`() async throws {
        try await TestService.run { test in
            let token = try await test.makeDeviceToken()
            let client = try await test.connectProvider(test.makeCertificate())
            let headers = ProviderHeaders(token, token: nil).with("apns-push-type", "mdm")
            #expect(try await client.send(headers.fields).status == 200)
            let other = try await client.send(headers.with("apns-topic", "com.example.app.voip").fields)
            #expect(other.reason == "TopicDisallowed")
            await client.close()
        }
    }

    @Test func `A certificate of the other environment is rejected with that reason, and the connection ends`()
        async throws
    {
        try await TestService.run { test in
            let token = try await test.makeDeviceToken()
            let client = try await test.connectProvider(test.makeCertificate("production"))
            let answer = try await client.send(ProviderHeaders(token, token: nil).fields)
            #expect(answer.status == 403 && answer.reason == "BadCertificateEnvironment")
            #expect(try await client.goAways() == [#"{"reason":"BadCertificateEnvironment"}"#])
        }
    }

    @Test(arguments: ["development", "universal"])
    func `A certificate for this environment, or for both, is accepted`(environment: String) async throws {
        try await TestService.run { test in
            let token = try await test.makeDeviceToken()
            let client = try await test.connectProvider(test.makeCertificate(environment))
            #expect(try await client.send(ProviderHeaders(token, token: nil).fields).status == 200)
            await client.close()
        }
    }

    @Test func `Revoking a certificate ends its connections, and new ones are refused`() async throws {
        try await TestService.run { test in
            let token = try await test.makeDeviceToken()
            let (revoked, good) = (try await test.makeCertificate(), try await test.makeCertificate())
            let (client, other) = (try await test.connectProvider(revoked), try await test.connectProvider(good))
            let headers = ProviderHeaders(token, token: nil).fields
            #expect(try await client.send(headers).status == 200)
            try await test.revoke(revoked)
            #expect(try await client.goAways() == [#"{"reason":"BadCertificate"}"#])
            let again = try await test.connectProvider(revoked)
            #expect(await !again.isServed(headers))
            #expect(try await other.send(headers).status == 200)
            await other.close()
        }
    }

    @Test func `If a certificate was revoked a moment ago, a request on its connection gets BadCertificate`()
        async throws
    {
        try await TestService.run { test in
            let token = try await test.makeDeviceToken()
            let certificate = try await test.makeCertificate()
            let client = try await test.connectProvider(certificate)
            let headers = ProviderHeaders(token, token: nil).fields
            #expect(try await client.send(headers).status == 200)
            let began = try await client.begin(headers)
            try await test.revoke(certificate)
            let answer = try await began.finish()
            #expect(answer.status == 403 && answer.reason == "BadCertificate")
        }
    }

    @Test func `If its key is revoked before the body has arrived, a request gets InvalidProviderToken`() async throws {
        try await TestService.run { test in
            let token = try await test.makeDeviceToken()
            let client = try await test.connectProvider()
            let headers = ProviderHeaders(token, token: try test.providerToken()).fields
            #expect(try await client.send(headers).status == 200)
            try await client.announced(1000)
            let began = try await client.begin(headers)
            let _: ManagementMessages.KeyMade = try await test.administer(
                "DELETE", "/v1/keys/\(try required(test.description.key).keyID)")
            let answer = try await began.finish()
            #expect(answer.status == 403 && answer.reason == "InvalidProviderToken")
            await client.close()
        }
    }

    @Test func `A device's certificate is not accepted from a provider`() async throws {
        try await TestService.run { test in
            let client = try await test.connectProvider(test.makeDeviceCertificate())
            #expect(await !client.isServed(ProviderHeaders("00", token: nil).fields))
        }
    }

    @Test func `A provider's certificate is not accepted from a device`() async throws {
        try await TestService.run { test in
            let client = try await WireClient.connect(
                port: test.port(\.courier), authorityFile: test.description.ca,
                certificate: test.makeCertificate())
            #expect(
                await !client.isServed([
                    (":method", "GET"), (":scheme", "https"), (":authority", "localhost"),
                    (":path", "/1/notifications"),
                ]))
        }
    }

    @Test func `A topic of the certificate that belongs to another app of the team is Forbidden`() async throws {
        try await TestService.run { test in
            let (token, topic) = (try await test.makeDeviceToken(), "com.example.app.complication")
            let _: ManagementMessages.AppMade = try await test.administer(
                "POST", "/v1/apps",
                ManagementMessages.NewApp(team: try required(test.description.key).teamID, bundleID: topic))
            let client = try await test.connectProvider(test.makeCertificate())
            let answer = try await client.send(ProviderHeaders(token, topic: topic, token: nil).fields)
            #expect(answer.status == 403 && answer.reason == "Forbidden")
            await client.close()
        }
    }

    @Test(arguments: [("pushtotalk", ".voip-ptt", 200), ("location", ".location-query", 400)])
    func `Of the services that came later, Push to Talk goes with a certificate, and location does not`(
        type: String,
        suffix: String,
        status: Int,
    ) async throws {
        try await TestService.run { test in
            let token = try await test.makeDeviceToken()
            let client = try await test.connectProvider(test.makeCertificate())
            let headers = ProviderHeaders(token, topic: "com.example.app" + suffix, token: nil)
            let answer = try await client.send(headers.fields + [("apns-push-type", type)])
            #expect(answer.status == status && answer.reason == (status == 200 ? nil : "TopicDisallowed"))
            await client.close()
        }
    }

    @Test func `A certificate that the accounts do not list is refused, even with a valid signature`() async throws {
        try await TestService.run { test in
            let client = try await test.connectProvider(test.issueCertificate(for: "com.example.app"))
            #expect(await !client.isServed(ProviderHeaders("00", token: nil).fields))
        }
    }

    @Test func `If a certificate is revoked, unfinished requests are answered at once`()
        async throws
    {
        try await TestService.run { test in
            let certificate = try await test.makeCertificate()
            let client = try await test.connectProvider(certificate)
            let began = try await client.begin(ProviderHeaders("00", token: nil).fields)
            try await test.revoke(certificate)
            let answer = try await began.answer()
            #expect(answer.status == 403)
            #expect(try await client.goAways() == [#"{"reason":"BadCertificate"}"#])
        }
    }
}
