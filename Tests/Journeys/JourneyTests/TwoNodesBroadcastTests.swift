#if PostgreSQL
    import Delivery
    import CommonTesting
    import Foundation
    import Notifications
    import PostgresClient
    import PostgresTesting
    import Testing

    @testable import Service
    @testable import ServiceTesting

    /// Channels and broadcasts of two services on one database, over real TLS (docs/cluster.md, decision 0040).
    @Suite(.timeLimit(.minutes(3)))
    struct TwoNodesBroadcastTests {
        /// A provider with a key that both services know from the store.
        private struct Provider {
            let token: String

            init(_ test: TestService) throws { token = try test.providerToken() }

            func makeChannel(at test: TestService, keepsNewest: Bool = false) async throws -> String {
                let client = try await test.connectChannels()
                defer { Task { await client.close() } }
                return try await client.create(token: token, keepsNewest: keepsNewest)
            }

            func broadcast(_ score: Int, to channel: String, at test: TestService) async throws -> WireClient.Answer {
                let client = try await test.connectProvider()
                defer { Task { await client.close() } }
                var headers = ChannelHeaders(broadcastTo: channel, token: token)
                headers.body = #"{"aps":{"event":"update","content-state":{"score":\#(score)}}}"#
                return try await client.send(headers.fields, body: headers.body)
            }

            func remove(_ channel: String, at test: TestService) async throws -> WireClient.Answer {
                let client = try await test.connectChannels()
                defer { Task { await client.close() } }
                return try await client.send(ChannelHeaders("DELETE", token: token, channel: channel).fields)
            }
        }

        private static func score(_ line: String?) throws -> Int {
            try required(Int(required(required(line).firstMatch(of: /"score":(\d+)/)).1))
        }

        private static func number(_ line: String) throws -> Int {
            try required(Int(required(line.firstMatch(of: /"sending":(\d+)/)).1))
        }

        @Test func `What a channel keeps reaches the devices at a node that cannot be told directly`() async throws {
            try await TwoServices.run { one, two in
                let provider = try Provider(one)
                let channel = try await provider.makeChannel(at: one, keepsNewest: true)
                let (device, certificate) = try await two.connectRegistered()
                let stream = try await device.listen()
                #expect(try await device.subscribe(to: channel).status == 204)
                try await two.waitForSubscribers(1, of: channel)
                for score in 1...3 {
                    #expect(try await provider.broadcast(score, to: channel, at: one).status == 200)
                    let line = try required(await stream.nextLine())
                    #expect(try Self.score(line) == score)
                    #expect(try await device.acknowledge([try Self.number(line)]).status == 204)
                }
                // A device that moves to the other node gets only what it has not seen.
                await device.close()
                try await two.waitForSubscribers(0, of: channel)
                #expect(try await provider.broadcast(4, to: channel, at: two).status == 200)
                let again = try await one.connectCourier(certificate)
                #expect(try Self.score(await again.listen().nextLine()) == 4)
                await again.close()
            }
        }

        @Test(arguments: [false, true])
        func `Nodes that reach each other send a broadcast once to each, and every subscriber gets it once`(
            keepsNewest: Bool
        ) async throws {
            try await TwoServices.runConnected { one, two in
                let provider = try Provider(one)
                let channel = try await provider.makeChannel(at: two, keepsNewest: keepsNewest)
                var streams: [WireClient.Open] = []
                var devices: [WireClient] = []
                for service in [one, one, two, two] {
                    let device = try await service.connectRegistered().client
                    streams.append(try await device.listen())
                    #expect(try await device.subscribe(to: channel).status == 204)
                    devices.append(device)
                }
                for service in [one, two] { try await service.waitForSubscribers(2, of: channel) }
                // The next line of each stream is always the next score, so no device gets one twice.
                for score in 1...10 {
                    let sender = score.isMultiple(of: 2) ? one : two
                    #expect(try await provider.broadcast(score, to: channel, at: sender).status == 200)
                    for stream in streams { #expect(try Self.score(await stream.nextLine()) == score) }
                }
                for device in devices { await device.close() }
            }
        }

        @Test func `A device that subscribes at one node gets broadcasts on its stream at the other`() async throws {
            try await TwoServices.run { one, two in
                let provider = try Provider(one)
                let channel = try await provider.makeChannel(at: one, keepsNewest: true)
                let (device, certificate) = try await two.connectRegistered()
                let stream = try await device.listen()
                // The other connection has no stream.
                let other = try await one.connectCourier(certificate)
                #expect(try await provider.broadcast(1, to: channel, at: one).status == 200)
                #expect(try await other.subscribe(to: channel).status == 204)
                #expect(try Self.score(await stream.nextLine()) == 1)
                try await two.waitForSubscribers(1, of: channel)
                #expect(try await other.subscribe(to: channel, "DELETE").status == 204)
                try await two.waitForSubscribers(0, of: channel)
                #expect(try await other.subscribe(to: channel).status == 204)
                try await two.waitForSubscribers(1, of: channel)
                // The app's end ends the subscription, and so does a reset of the device's tokens.
                _ = try await other.send(TestService.deviceHeaders("DELETE", "/1/apps/com.example.app"), body: "")
                try await two.waitForSubscribers(0, of: channel)
                for client in [device, other] { await client.close() }
            }
        }

        @Test func `While a device moves between the nodes, the newest broadcast always arrives`() async throws {
            try await TwoServices.run { one, two in
                let provider = try Provider(one)
                let channel = try await provider.makeChannel(at: one, keepsNewest: true)
                let (opening, certificate) = try await one.connectRegistered()
                #expect(try await opening.subscribe(to: channel).status == 204)
                await opening.close()
                for round in 1...6 {
                    let (here, there) = round.isMultiple(of: 2) ? (one, two) : (two, one)
                    let device = try await here.connectCourier(certificate)
                    async let answer = provider.broadcast(round, to: channel, at: there)
                    let stream = try await device.listen()
                    // An earlier one may come again, because acknowledgements are recorded later.
                    while true {
                        let line = try required(await stream.nextLine())
                        #expect(try await device.acknowledge([try Self.number(line)]).status == 204)
                        if try Self.score(line) == round { break }
                    }
                    #expect(try await answer.status == 200)
                    await device.close()
                }
            }
        }

        @Test func `A channel that one node deletes is gone at the other`() async throws {
            try await TwoServices.run { one, two in
                let provider = try Provider(one)
                let (kept, gone) = (
                    try await provider.makeChannel(at: one, keepsNewest: true),
                    try await provider.makeChannel(at: one, keepsNewest: true)
                )
                let device = try await two.connectRegistered().client
                let stream = try await device.listen()
                for channel in [kept, gone] {
                    #expect(try await device.subscribe(to: channel).status == 204)
                    try await two.waitForSubscribers(1, of: channel)
                }
                #expect(try await provider.remove(gone, at: one).status == 204)
                try await two.waitForSubscribers(0, of: gone)
                let refused = try await provider.broadcast(1, to: gone, at: two)
                #expect(refused.status == 400 && refused.reason == "ChannelNotRegistered")
                #expect(try await provider.remove(gone, at: two).reason == "ChannelNotRegistered")
                #expect(try await device.subscribe(to: gone).status == 400)
                #expect(try await provider.broadcast(2, to: kept, at: one).status == 200)
                #expect(try Self.score(await stream.nextLine()) == 2)
                await device.close()
            }
        }

        @Test func `An app that one node deletes gets no broadcast at the other`() async throws {
            try await TwoServices.run { one, two in
                let provider = try Provider(one)
                let channel = try await provider.makeChannel(at: one, keepsNewest: true)
                let device = try await two.connectRegistered().client
                let stream = try await device.listen()
                #expect(try await device.subscribe(to: channel).status == 204)
                #expect(try await provider.broadcast(1, to: channel, at: two).status == 200)
                #expect(try Self.score(await stream.nextLine()) == 1)
                let deleted = try await one.ask("DELETE", "/v1/apps/com.example.app")
                #expect(deleted.status == 200 || deleted.status == 204, "\(deleted.text)")
                try await wait(while: try await provider.broadcast(2, to: channel, at: two).status == 200)
                await device.close()
            }
        }
    }
#endif
