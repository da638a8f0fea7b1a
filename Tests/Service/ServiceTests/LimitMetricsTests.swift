import BinaryAPI
import CFaultyDisk
import Connections
import Courier
import Delivery
import Foundation
import HTTP2
import NIOCore
import NIOPosix
import ProviderAPI
import Rates
import Service
import Testing

@testable import ServiceTesting

/// Every exceeded limit is counted, by its name in docs/metrics.md.
@Suite(.timeLimit(.minutes(2)))
struct LimitMetricsTests {
    /// A limit with a low value, and clients that exceed it. They stay connected until the metrics have counted it.
    struct Row: CustomTestStringConvertible, Sendable {
        let limit: Limit
        let set: @Sendable (inout Settings) -> Void
        let exceed: @Sendable (TestService) async throws -> [WireClient]

        var testDescription: String { limit.rawValue }

        init(
            _ limit: Limit,
            _ set: @escaping @Sendable (inout Settings) -> Void = { _ in },
            _ exceed: @escaping @Sendable (TestService) async throws -> [WireClient],
        ) {
            self.limit = limit
            self.set = set
            self.exceed = exceed
        }
    }

    private static let once = Rate(burst: 1, perSecond: 0.001)

    static let rows = [
        Row(.tokenRate, { $0.delivery.requestsPerDeviceToken = once }) { test in
            let client = try await test.connectProvider()
            let headers = ProviderHeaders(try await test.makeDeviceToken(), token: try test.providerToken()).fields
            for status in [200, 429] { #expect(try await client.send(headers).status == status) }
            return [client]
        },
        Row(.tokenUpdateRate) { test in
            let client = try await test.connectProvider()
            for age in [0, 60, 120] as [Double] {
                let token = try test.providerToken(issuedAt: Date(timeIntervalSinceNow: -age))
                _ = try await client.send(ProviderHeaders("00", token: token).fields)
            }
            return [client]
        },
        Row(.failedTokenRate, { $0.provider.failedTokens = once }) { test in
            let client = try await test.connectProvider()
            for _ in 0..<2 { _ = try await client.send(ProviderHeaders("00", token: "a.b.c").fields) }
            return [client]
        },
        Row(.providerConnectRate, { $0.provider.perAddress.connects = once }) { test in
            [try await test.connectProvider(), try await test.connectProvider()]
        },
        Row(.courierConnectRate, { $0.courier.perAddress.connects = once }) { test in
            [try await test.connectCourier(), try await test.connectCourier()]
        },
        Row(.openConnections, { $0.provider.perAddress.open = 1 }) { test in
            [try await test.connectProvider(), try await test.connectProvider()]
        },
        Row(.handshakeTimeout, { $0.listener.handshakeTimeout = .milliseconds(100) }) { test in
            let silent = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connect(host: "127.0.0.1", port: test.port(\.provider)).get()
            try await silent.closeFuture.get()
            return []
        },
        Row(.requestTimeout, { $0.provider.requestTimeout = .seconds(2) }) { test in
            let client = try await test.connectProvider()
            let headers = ProviderHeaders("00", token: try test.providerToken()).fields
            _ = try await client.send(headers)
            try await client.announced(1000)
            let began = try await client.begin(headers)
            #expect(try await began.answer().reason == "IdleTimeout")
            return [client]
        },
        Row(.idleTimeout, { $0.provider.idleTimeout = .milliseconds(100) }) { [try await $0.connectProvider()] },
        Row(.flood) { test in
            let client = try await test.connectProvider()
            let headers = ProviderHeaders("00", token: try test.providerToken()).fields
            _ = try await client.send(headers)
            try await client.announced(1000)
            try await client.openAndReset(headers, times: 5000)
            return [client]
        },
        Row(.unacknowledged, { $0.delivery.unacknowledgedPerDevice = 1 }) { test in
            try await test.send(2, toListeningDevice: #"{"aps":{"alert":"Hello"}}"#)
        },
        Row(.channels, { $0.channels.channelsPerApp = 1 }) { test in
            let client = try await test.connectChannels()
            let headers = ChannelHeaders("POST", token: try test.providerToken())
            for status in [201, 400] {
                #expect(try await client.send(headers.fields, body: headers.body).status == status)
            }
            return [client]
        },
        Row(.subscriptions, { $0.channels.subscriptionsPerApp = 1 }) { test in
            let device = try await test.connectRegistered().client
            for status in [204, 429] {
                #expect(try await device.subscribe(to: try await test.makeChannel()).status == status)
            }
            return [device]
        },
        Row(.broadcastRate, { $0.channels.broadcastsPerChannel = once }) { test in
            try await test.broadcast(twiceTo: test.makeChannel(), statuses: [200, 429])
        },
        Row(.unacknowledgedBroadcasts, { $0.channels.unacknowledgedPerDevice = 1 }) { test in
            let channel = try await test.makeChannel()
            let device = try await test.connectRegistered().client
            _ = try await device.listen()
            #expect(try await device.subscribe(to: channel).status == 204)
            try await test.waitForSubscribers(1, of: channel)
            return try await test.broadcast(twiceTo: channel, statuses: [200, 200]) + [device]
        },
        Row(.silentRate, { $0.delivery.silentsPerApp = once }) { test in
            try await test.send(2, toListeningDevice: #"{"aps":{"content-available":1}}"#)
        },
    ]

    @Test(arguments: rows) func `An exceeded limit is counted`(_ row: Row) async throws {
        try await TestService.run(row.set) { test in
            let clients = try await row.exceed(test)
            try await test.metricsSay(row.limit.rawValue)
            for client in clients { await client.close() }
        }
    }

    @Test func `The limit of notifications that wait for the disk is counted`() async throws {
        try await RejectionSituation.withFaultyDisk {
            $0.delivery.pendingStoresPerShard = 1
        } _: { test, disk in
            let token = try await test.makeDeviceToken()
            let headers = ProviderHeaders(token, token: try test.providerToken()).fields
            let clients = [
                try await test.connectProvider(), try await test.connectProvider(), try await test.connectProvider(),
            ]
            faulty_disk_set(disk, FAULTY_DISK_SLOW)
            try await withThrowingDiscardingTaskGroup { group in
                for client in clients { group.addTask { _ = try await client.send(headers) } }
                try await test.metricsSay(Limit.pendingStores.rawValue)
                faulty_disk_set(disk, FAULTY_DISK_NONE)
            }
            for client in clients { await client.close() }
        }
    }
}

extension TestService {
    /// Sends notifications to a device that is awake and connected and that acknowledges nothing.
    /// - Returns: the connections of both.
    fileprivate func send(_ count: Int, toListeningDevice payload: String) async throws -> [WireClient] {
        func request(_ method: String, _ path: String) -> [(String, String)] {
            [(":method", method), (":scheme", "https"), (":authority", "localhost"), (":path", path)]
        }
        let device = try await connectCourier(makeDeviceCertificate())
        let registered = try await device.send(request("PUT", "/1/apps/\(bundleID)"), body: "")
        let token = try required(registered.body.split(separator: "\"").dropFirst(3).first.map(String.init))
        _ = try await device.send(request("POST", "/1/state"), body: #"{"power":"awake"}"#)
        // This request stays open, so the next one comes after it.
        _ = try await device.begin(request("GET", "/1/notifications"), ends: true)
        let provider = try await connectProvider()
        let headers = ProviderHeaders(token, token: try providerToken())
        for _ in 0..<count { #expect(try await provider.send(headers.fields, body: payload).status == 200) }
        return [device, provider]
    }
}
