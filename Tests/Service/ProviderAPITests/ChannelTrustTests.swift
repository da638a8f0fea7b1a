import CFaultyDisk
import Delivery
import Foundation
import NIOCore
import Notifications
import ProviderAPI
import Service
import Testing

@testable import ServiceTesting

/// The reasons about the sender, the time and the store, for the management of channels and for broadcasts. Apple's one
/// table of reasons is for all requests. ChannelManagementTests and BroadcastRejectionTests have those about the request.
@Suite(.timeLimit(.minutes(5)))
struct ChannelTrustTests {
    enum Endpoint: CaseIterable {
        case management
        case broadcasts

        func connect(_ test: TestService, _ certificate: ClientCertificate? = nil) async throws -> WireClient {
            switch (self, certificate) {
            case (.management, _): try await test.connectChannels(certificate)
            case (.broadcasts, let certificate?): try await test.connectProvider(certificate)
            case (.broadcasts, nil): try await test.connectProvider()
            }
        }

        func headers(_ channel: String, token: String?) -> ChannelHeaders {
            switch self {
            case .management: ChannelHeaders("POST", token: token)
            case .broadcasts: ChannelHeaders(broadcastTo: channel, token: token)
            }
        }

        var success: Int { self == .management ? 201 : 200 }
    }

    private func send(
        _ endpoint: Endpoint, _ client: WireClient, _ channel: String, token: String?,
    ) async throws -> WireClient.Answer {
        let headers = endpoint.headers(channel, token: token)
        return try await client.send(headers.fields, body: headers.body)
    }

    @Test(arguments: Endpoint.allCases)
    func `A provider token that is old, for another environment or changes too often is refused`(
        _ endpoint: Endpoint
    )
        async throws
    {
        try await TestService.run { test in
            let channel = try await test.makeChannel()
            try await test.createApp("com.example.second")
            let now = Date()
            for (reason, token) in [
                (Rejection.Reason.expiredProviderToken, try test.providerToken(issuedAt: now - 3700)),
                (.badEnvironmentKeyIDInToken, try await test.limitedToken(environment: .production)),
                (.topicMismatch, try await test.limitedToken(bundleIDs: ["com.example.second"])),
            ] {
                let client = try await endpoint.connect(test)
                let answer = try await send(endpoint, client, channel, token: token)
                #expect((answer.status, answer.reason) == (reason.status, reason.rawValue))
                await client.close()
            }
            let client = try await endpoint.connect(test)
            for age in [0, 60] as [Double] {
                _ = try await send(endpoint, client, channel, token: try test.providerToken(issuedAt: now - age))
            }
            let changed = try await send(endpoint, client, channel, token: try test.providerToken(issuedAt: now - 120))
            #expect((changed.status, changed.reason) == (429, "TooManyProviderTokenUpdates"))
            await client.close()
        }
    }

    @Test(arguments: Endpoint.allCases)
    func `A provider certificate for the other environment, or one that was revoked, is refused`(
        _ endpoint: Endpoint
    )
        async throws
    {
        try await TestService.run { test in
            let channel = try await test.makeChannel()
            let other = try await endpoint.connect(test, try await test.makeCertificate("production"))
            let refused = try await send(endpoint, other, channel, token: nil)
            #expect((refused.status, refused.reason) == (403, "BadCertificateEnvironment"))
            let certificate = try await test.makeCertificate()
            let client = try await endpoint.connect(test, certificate)
            #expect(try await send(endpoint, client, channel, token: nil).status == endpoint.success)
            let headers = endpoint.headers(channel, token: nil)
            let begun = try await client.begin(headers.fields)
            try await test.revoke(certificate)
            let answer = try await begun.finish()
            #expect((answer.status, answer.reason) == (403, "BadCertificate"))
            #expect(try await client.goAways().first?.contains("BadCertificate") == true)
        }
    }

    @Test(arguments: Endpoint.allCases)
    func `Revoking a certificate ends a silent connection, and a request that has not ended gets BadCertificate`(
        _ endpoint: Endpoint
    )
        async throws
    {
        try await TestService.run { test in
            let channel = try await test.makeChannel()
            let certificate = try await test.makeCertificate()
            let headers = endpoint.headers(channel, token: nil)
            let (unused, silent) = (
                try await endpoint.connect(test, certificate), try await endpoint.connect(test, certificate)
            )
            #expect(try await send(endpoint, silent, channel, token: nil).status == endpoint.success)
            let busy = try await endpoint.connect(test, certificate)
            let begun = try await busy.begin(headers.fields)
            try await test.revoke(certificate)
            // Nothing is sent from now on, so only the service's own check can find out.
            let answer = try await begun.answer()
            #expect((answer.status, answer.reason) == (403, "BadCertificate"))
            for client in [silent, busy] {
                #expect(try await client.goAways() == [#"{"reason":"BadCertificate"}"#])
            }
            _ = try await unused.goAways()
        }
    }

    @Test(arguments: Endpoint.allCases)
    func `A request that does not end in time gets IdleTimeout`(_ endpoint: Endpoint) async throws {
        try await TestService.run {
            $0.provider.requestTimeout = .seconds(2)
        } _: { test in
            let token = try test.providerToken()
            let channel = try await test.makeChannel()
            let client = try await endpoint.connect(test)
            let began = try await client.begin(endpoint.headers(channel, token: token).fields)
            let answer = try await began.answer()
            #expect((answer.status, answer.reason) == (400, "IdleTimeout"))
            await client.close()
        }
    }

    @Test func `While the disk is full, what cannot be stored is refused, and what is not kept is sent`() async throws {
        try await RejectionSituation.withFaultyDisk { test, disk in
            let token = try test.providerToken()
            let (kept, passing) = (try await test.makeChannel(keepsNewest: true), try await test.makeChannel())
            let (manager, provider) = (try await test.connectChannels(), try await test.connectProvider())
            faulty_disk_set(disk, FAULTY_DISK_FULL)
            for (endpoint, client) in [(Endpoint.management, manager), (.broadcasts, provider)] {
                let refused = try await send(endpoint, client, kept, token: token)
                #expect((refused.status, refused.reason) == (503, "ServiceUnavailable"))
            }
            #expect(try await send(.broadcasts, provider, passing, token: token).status == 200)
            faulty_disk_set(disk, FAULTY_DISK_NONE)
            #expect(try await send(.broadcasts, provider, kept, token: token).status == 200)
            for client in [manager, provider] { await client.close() }
        }
    }

    // MARK: Hostile clients

    @Test func `Whatever a body contains, the answer has a documented reason`() async throws {
        try await TestService.run { test in
            let token = try test.providerToken()
            let client = try await test.connectChannels()
            let deep = String(repeating: "[", count: 2000)
            for body in [
                "\u{0}", "{", "[]", "null", "\"\"", "{}", #"{"message-storage-policy":"1","push-type":"LiveActivity"}"#,
                #"{"message-storage-policy":1e400,"push-type":"LiveActivity"}"#,
                #"{"message-storage-policy":-1,"push-type":"LiveActivity"}"#,
                #"{"message-storage-policy":18446744073709551616,"push-type":"LiveActivity"}"#,
                #"{"message-storage-policy":0.5,"push-type":"LiveActivity"}"#,
                #"{"message-storage-policy":0,"push-type":7}"#, #"{"message-storage-policy":0,"push-type":""}"#,
                #"{"message-storage-policy":0,"push-type":"LiveActivity"}{}"#, deep, #"{"a":\#(deep)"#,
                #"{"message-storage-policy":null,"push-type":null}"#,
            ] {
                let answer = try await client.send(ChannelHeaders("POST", token: token).fields, body: body)
                #expect(answer.status == 400, "\(body.prefix(60))")
                #expect(
                    ["PayloadEmpty", "BadRequestPayload", "BadRequestParams", "MissingPushType", "InvalidPushType"]
                        .contains(answer.reason), "\(body.prefix(60))"
                )
            }
            for id in ["", "====", "AAA", String(repeating: "A", count: 4000), "AAAA\u{e9}", "/../../"] {
                for method in ["GET", "DELETE"] {
                    let headers = ChannelHeaders(method, token: token, channel: id)
                    let answer = try await client.send(headers.fields, body: "")
                    #expect(answer.status == 400)
                    #expect(["BadChannelId", "MissingChannelId"].contains(answer.reason), "\(id)")
                }
            }
            let listed = try await client.send(ChannelHeaders("GET", "all-channels", token: token).fields, body: "")
            #expect(listed.body == #"{"channels":[]}"#)
            await client.close()
        }
    }

    @Test func `A device with a thousand subscriptions gets each broadcast once, also after it has connected again`()
        async throws
    {
        try await TestService.run {
            $0.channels.subscriptionsPerApp = 1000
            $0.channels.unacknowledgedPerDevice = 2000
        } _: { test in
            let token = try test.providerToken()
            let client = try await test.connectChannels()
            let (device, certificate) = try await test.connectRegistered()
            var channels: [String] = []
            for _ in 0..<1000 { channels.append(try await client.create(token: token, keepsNewest: true)) }
            for channel in channels { #expect(try await device.subscribe(to: channel).status == 204) }
            #expect(try await device.subscribe(to: client.create(token: token)).status == 429)
            await device.close()
            let provider = try await test.connectProvider()
            for channel in channels {
                #expect(try await send(.broadcasts, provider, channel, token: token).status == 200)
            }
            let again = try await test.connectCourier(certificate)
            let stream = try await again.listen()
            var received: Set<String> = []
            for _ in channels {
                let line = try required(await stream.nextLine())
                received.insert(String(try required(line.firstMatch(of: /"channel":"([^"]+)"/)).1))
            }
            #expect(received == Set(channels))
            for client in [client, again, provider] { await client.close() }
        }
    }

    @Test func `While broadcasts are sent, channels can be deleted and devices can leave`() async throws {
        try await TestService.run { test in
            let token = try test.providerToken()
            let manager = try await test.connectChannels()
            let channels = try await (0..<8).asyncMap { _ in try await manager.create(token: token, keepsNewest: true) }
            var devices: [WireClient] = []
            for _ in 0..<4 {
                let device = try await test.connectRegistered().client
                _ = try await device.listen()
                for channel in channels { #expect(try await device.subscribe(to: channel).status == 204) }
                devices.append(device)
            }
            let answers = try await withThrowingTaskGroup(of: [Int].self) { group in
                for channel in channels {
                    group.addTask {
                        let provider = try await test.connectProvider()
                        var answers: [Int] = []
                        // Goes on until the channel is gone.
                        while answers.last != 400 {
                            answers.append(try await send(.broadcasts, provider, channel, token: token).status)
                        }
                        await provider.close()
                        return answers
                    }
                    group.addTask {
                        let headers = ChannelHeaders("DELETE", token: token, channel: channel)
                        return [try await manager.send(headers.fields, body: "").status]
                    }
                }
                for device in devices.prefix(2) {
                    group.addTask {
                        await device.close()
                        return []
                    }
                }
                return try await group.reduce(into: [Int]()) { $0 += $1 }
            }
            #expect(answers.allSatisfy { [200, 204, 400, 429].contains($0) })
            #expect(answers.count { $0 == 204 } == channels.count)
            for channel in channels { try await test.waitForSubscribers(0, of: channel) }
            for client in devices.dropFirst(2) + [manager] { await client.close() }
        }
    }
}

extension Sequence {
    fileprivate func asyncMap<Value>(_ body: (Element) async throws -> Value) async rethrows -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await body(element)) }
        return values
    }
}
