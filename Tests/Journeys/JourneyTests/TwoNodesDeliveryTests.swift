#if PostgreSQL
    import AsyncHTTPClient
    import Delivery
    import CommonTesting
    import Foundation
    import NIOHTTP1
    import PostgresClient
    import PostgresTesting
    import Testing

    @testable import Service
    @testable import ServiceTesting

    /// Two services on one database, over real TLS.
    @Suite(.timeLimit(.minutes(2)))
    struct TwoNodesDeliveryTests {
        private func headers(_ method: String, _ path: String) -> [(String, String)] {
            [(":method", method), (":scheme", "https"), (":authority", "localhost"), (":path", path)]
        }

        private func withTwo(
            _ change: @escaping (inout Settings) -> Void = { _ in },
            _ body: (TestService, TestService) async throws -> Void,
        ) async throws {
            try await TwoServices.run(change, body)
        }

        private func register(_ device: WireClient) async throws -> String {
            let answer = try await device.send(headers("PUT", "/1/apps/com.example.app"), body: "")
            return try required(answer.body.split(separator: "\"").dropFirst(3).first.map(String.init))
        }

        /// Sends with the key that the first service made; the second service knows it from the store.
        private func push(
            _ text: String, _ token: String, keyOf one: TestService, at test: TestService
        ) async throws
            -> Int
        {
            let client = try await test.connectProvider()
            let fields = ProviderHeaders(token, token: try one.providerToken()).fields
            let answer = try await client.send(fields, body: #"{"aps":{"alert":"\#(text)"}}"#)
            await client.close()
            return answer.status
        }

        private func acknowledge(_ line: String, _ device: WireClient) async throws {
            let number = try required(line.firstMatch(of: /"sending":(\d+)/)).1
            let body = #"{"sendings":[\#(number)]}"#
            let answer = try await device.send(headers("POST", "/1/acknowledgements"), body: body)
            #expect(answer.status == 204 || answer.status == 200)
        }

        private func number(_ line: String) throws -> UInt64 {
            try required(UInt64(required(line.firstMatch(of: /"sending":(\d+)/)).1))
        }

        @Test func `A notification that one service accepts reaches the device at the other`() async throws {
            try await withTwo { one, two in
                let certificate = try await one.makeDeviceCertificate()
                let device = try await two.connectCourier(certificate)
                let token = try await register(device)
                let stream = try await device.open(headers("GET", "/1/notifications"), endStream: true)
                for text in ["first", "second", "third"] {
                    #expect(try await push(text, token, keyOf: one, at: one) == 200)
                    let line = try required(try await stream.nextLine())
                    #expect(line.contains(text))
                    try await acknowledge(line, device)
                }
                await device.close()
            }
        }

        @Test func `A device that moves ends its older stream, and its attempts have greater numbers`() async throws {
            try await withTwo { one, two in
                let certificate = try await one.makeDeviceCertificate()
                let first = try await one.connectCourier(certificate)
                let token = try await register(first)
                let older = try await first.open(headers("GET", "/1/notifications"), endStream: true)
                #expect(try await push("first", token, keyOf: one, at: two) == 200)
                let line = try required(try await older.nextLine())
                // The device does not acknowledge it, so the next stream gets it again.
                let second = try await two.connectCourier(certificate)
                let newer = try await second.open(headers("GET", "/1/notifications"), endStream: true)
                let again = try required(try await newer.nextLine())
                #expect(again.contains("first"))
                #expect(try number(again) > number(line))
                try await acknowledge(again, second)
                // The last line of the older stream says why it ends.
                let last = try required(try await older.nextLine())
                #expect(last.contains("end"))
                #expect(try await older.nextLine() == nil)
                #expect(try await push("second", token, keyOf: one, at: one) == 200)
                #expect(try await newer.nextLine()?.contains("second") == true)
                await first.close()
                await second.close()
            }
        }

        @Test func `While a device moves between the services, the last notification always arrives`() async throws {
            try await withTwo { one, two in
                let certificate = try await one.makeDeviceCertificate()
                let opening = try await one.connectCourier(certificate)
                let token = try await register(opening)
                await opening.close()
                for round in 0..<6 {
                    let (here, there) = round.isMultiple(of: 2) ? (one, two) : (two, one)
                    let device = try await here.connectCourier(certificate)
                    let stream = try await device.open(headers("GET", "/1/notifications"), endStream: true)
                    async let sent = push("round \(round)", token, keyOf: one, at: there)
                    // A notification that was not acknowledged on an earlier stream may come first.
                    var line = try required(try await stream.nextLine())
                    while !line.contains("round \(round)") { line = try required(try await stream.nextLine()) }
                    #expect(try await sent == 200)
                    if round.isMultiple(of: 3) { try await acknowledge(line, device) }
                    await device.close()
                }
            }
        }

        @Test(arguments: [false, true])
        func `A device that flees from service to service while notifications are sent gets the newest`(
            hasPeers: Bool
        ) async throws {
            try await withTwo({ if hasPeers { $0.peer = ListenAddress(host: "127.0.0.1", port: 0) } }) { one, two in
                let certificate = try await one.makeDeviceCertificate()
                var connections = [try await one.connectCourier(certificate)]
                let token = try await register(connections[0])
                let count = 30
                async let statuses = {
                    var statuses: [Int] = []
                    for number in 1...count {
                        let there = number.isMultiple(of: 2) ? one : two
                        statuses.append(try await push("<\(number)>", token, keyOf: one, at: there))
                    }
                    return statuses
                }()
                var older: [WireClient.Open] = []
                var number = 0
                while number < count {
                    let here = older.count.isMultiple(of: 2) ? two : one
                    let device = try await here.connectCourier(certificate)
                    connections.append(device)
                    let stream = try await device.open(headers("GET", "/1/notifications"), endStream: true)
                    older.append(stream)
                    // It flees after one notification, and acknowledges every other one, but never the newest.
                    let line = try required(try await stream.nextLine())
                    number = try required(Int(required(line.firstMatch(of: /<(\d+)>/)).1))
                    if number < count, older.count.isMultiple(of: 2) { try await acknowledge(line, device) }
                }
                // A failure shows the statuses.
                let answered = try await statuses
                #expect(answered == [Int](repeating: 200, count: count))
                // The streams that it has left have ended, with the reason as the last line.
                for stream in older.dropLast() {
                    var last = ""
                    while let line = try await stream.nextLine() { if !line.isEmpty { last = line } }
                    #expect(last == #"{"end":"takenOver"}"#)
                }
                for connection in connections { await connection.close() }
            }
        }

        @Test(arguments: [false, true])
        func `If a device opens a stream at both services at once, one stream stays and gets what comes`(
            hasPeers: Bool
        ) async throws {
            try await withTwo({ if hasPeers { $0.peer = ListenAddress(host: "127.0.0.1", port: 0) } }) { one, two in
                let certificate = try await one.makeDeviceCertificate()
                let connections = [
                    try await one.connectCourier(certificate), try await two.connectCourier(certificate),
                ]
                let token = try await register(connections[0])
                for round in 0..<4 {
                    async let first = connections[0].open(headers("GET", "/1/notifications"), endStream: true)
                    async let second = connections[1].open(headers("GET", "/1/notifications"), endStream: true)
                    let streams = [try await first, try await second]
                    let (lines, heard) = AsyncStream<(Int, String?)>.makeStream()
                    for (index, stream) in streams.enumerated() {
                        Task {
                            while let line = try await stream.nextLine() { heard.yield((index, line)) }
                            heard.yield((index, nil))
                        }
                    }
                    // One stream ends. The other one gets what both services are sent.
                    var reading = lines.makeAsyncIterator()
                    var last = try required(await reading.next())
                    // What was acknowledged just before the last stream ended may come again ("at least once").
                    while round > 0, last.1?.contains("round \(round - 1)") == true {
                        last = try required(await reading.next())
                    }
                    // A node that has not heard from its store for half a minute answers 503, so say what the answer was.
                    let answer = last.1 == nil ? try? await streams[last.0].answer() : nil
                    #expect(
                        last.1 == #"{"end":"takenOver"}"#,
                        "round \(round), answered \(answer?.status ?? 0) \(answer?.body ?? "")")
                    let end = try required(await reading.next())
                    #expect(end.0 == last.0 && end.1 == nil)
                    for (sender, service) in [one, two].enumerated() {
                        let text = "round \(round), sender \(sender)"
                        async let status = push(text, token, keyOf: one, at: service)
                        var line = ""
                        while !line.contains(text) {
                            let next = try required(await reading.next())
                            #expect(next.0 != last.0)
                            line = try required(next.1)
                        }
                        try await acknowledge(line, connections[1 - last.0])
                        #expect(try await status == 200)
                    }
                }
                for connection in connections { await connection.close() }
            }
        }

        @Test func `After a reset at one service, the device at the other does not get what waited for its power`()
            async throws
        {
            try await withTwo { one, two in
                let certificate = try await one.makeDeviceCertificate()
                let device = try await two.connectCourier(certificate)
                let old = try await register(device)
                let stream = try await device.open(headers("GET", "/1/notifications"), endStream: true)
                // The first reading of the mailboxes sends what it finds, whatever the device's power. It has ended when
                // something arrives.
                #expect(try await push("first", old, keyOf: one, at: two) == 200)
                try await acknowledge(try required(try await stream.nextLine()), device)
                #expect(try await device.send(headers("POST", "/1/state"), body: #"{"power":"low"}"#).status == 204)
                let (waiting, urgent) = (UUID().uuidString.lowercased(), UUID().uuidString.lowercased())
                let provider = try await two.connectProvider()
                // A stream that begins takes what waits for power too. After the first line, it has begun.
                let first = ProviderHeaders(old, token: try one.providerToken())
                #expect(try await provider.send(first.fields).status == 200)
                #expect(try await stream.nextLine()?.isEmpty == false)
                let push = ProviderHeaders(old, token: try one.providerToken()).adding("apns-priority", "5")
                    .adding("apns-id", waiting)
                #expect(try await provider.send(push.fields).status == 200)
                // Another connection of the device, which takes nothing over.
                let elsewhere = try await one.connectCourier(certificate)
                #expect(try await elsewhere.send(headers("POST", "/1/reset"), body: "").status == 204)
                // The service that has the stream hears of the reset, and records that nothing waits any more.
                let again = ProviderHeaders(try await register(elsewhere), token: try one.providerToken())
                    .adding("apns-id", urgent)
                let other = try await one.connectProvider()
                // It is stored and announced after the reset was, so it comes after it.
                async let answer = other.send(again.fields)
                // An urgent notification takes along all that waits.
                var line = ""
                while line.isEmpty { line = try required(try await stream.nextLine()) }
                #expect(line.contains(urgent) && !line.contains(waiting), "\(line)")
                #expect(try await answer.status == 200)
                for client in [provider, other, device, elsewhere] { await client.close() }
            }
        }

        @Test func `An administrator that is revoked at one service is refused at the other, on its streams too`()
            async throws
        {
            try await withTwo(TestService.withManagementTLS) { one, two in
                let administrator = try await one.makeAdministrator()
                let stream = try await two.open("GET", "/v1/log?follow=true", as: administrator)
                #expect(stream.status == .ok)
                let path = "/v1/administrators/\(administrator.serial)"
                try await wait(while: try await two.ask("GET", path).status != 200)
                #expect(try await one.ask("DELETE", path).status == 200)
                try await wait(while: (try? await two.ask("GET", path, as: administrator).status) == 200)
                do {
                    for try await _ in stream.body {}
                } catch {
                    // The end of the connection is an error for the client.
                }
                #expect(try await two.ask("GET", path).text.contains("revoked"))
            }
        }

        @Test func `A change of the accounts at one service takes effect at the other`() async throws {
            try await withTwo { one, two in
                let certificate = try await one.makeDeviceCertificate()
                let device = try await two.connectCourier(certificate)
                let token = try await register(device)
                let stream = try await device.open(headers("GET", "/1/notifications"), endStream: true)
                #expect(try await push("first", token, keyOf: one, at: two) == 200)
                #expect(try await stream.nextLine()?.contains("first") == true)
                // The app is removed at the other service: its token no longer reaches it anywhere.
                let elsewhere = try await one.connectCourier(certificate)
                let removal = try await elsewhere.send(headers("DELETE", "/1/apps/com.example.app"), body: "")
                #expect(removal.status / 100 == 2)
                await elsewhere.close()
                try await wait(while: try await push("second", token, keyOf: one, at: two) != 410)
                let keyID = try required(one.description.key).keyID
                let revoked = try await one.ask("DELETE", "/v1/keys/\(keyID)")
                #expect(revoked.status / 100 == 2, "\(revoked.text)")
                try await wait(while: try await push("third", token, keyOf: one, at: two) != 403)
                await device.close()
            }
        }

        // MARK: Direct offers

        @Test func `Nodes that reach each other offer directly, and nothing is stored`() async throws {
            let isPeer: (inout Settings) -> Void = {
                $0.peer = ListenAddress(host: "127.0.0.1", port: 0)
                // Wait long enough for acknowledgements even on a slow machine.
                $0.delivery.acknowledgementGrace = .seconds(60)
            }
            try await withTwo(isPeer) { one, two in
                let device = try await two.connectCourier(try await one.makeDeviceCertificate())
                let token = try await register(device)
                let stream = try await device.open(headers("GET", "/1/notifications"), endStream: true)
                // The first one is stored, and the store says where the device is. So are those that come before the nodes
                // are connected.
                var (count, stored) = (0, true)
                while stored {
                    count += 1
                    let number = count
                    async let status = push("number \(number)", token, keyOf: one, at: one)
                    let line = try required(try await stream.nextLine())
                    #expect(line.contains("number \(number)"))
                    try await acknowledge(line, device)
                    #expect(try await status == 200)
                    let id = try required(line.firstMatch(of: /"id":"([^"]+)"/)).1
                    // Both nodes answer, as soon as they are connected.
                    let log = try await one.ask("GET", "/v1/log?id=\(id)").text
                    #expect(log.contains("accepted"))
                    stored = log.contains("stored") || log.contains(#"{"unanswered":["two"]}"#)
                    if !stored {
                        let events = log.matches(of: /"event":"([a-z]+)"/).map { String($0.1) }
                        #expect(events == ["accepted", "sent", "acknowledged"])
                    }
                }
                let nodes = try await two.ask("GET", "/v1/nodes").text
                #expect(nodes.contains(#""peer":"127.0.0.1:"#))
                await device.close()
            }
        }

        @Test func `A node that cannot read its log is named as one that did not answer`() async throws {
            try await TwoServices.runConnected { one, two in
                let folder = URL(fileURLWithPath: two.description.ca).deletingLastPathComponent()
                    .appendingPathComponent("log")
                try FileManager.default.removeItem(at: folder)
                try Data().write(to: folder)
                let log = try await one.ask("GET", "/v1/log?id=\(UUID().uuidString)").text
                #expect(log == #"{"unanswered":["two"]}"# + "\n")
            }
        }

        // MARK: Nodes

        private func states(_ test: TestService) async throws -> [String: String] {
            struct Node: Decodable {
                let name: String
                let state: String
            }
            let nodes = try JSONDecoder().decode([Node].self, from: try await test.ask("GET", "/v1/nodes").body)
            return Dictionary(uniqueKeysWithValues: nodes.map { ($0.name, $0.state) })
        }

        @Test func `A drained node sends its devices and providers away and accepts no more`() async throws {
            try await withTwo { one, two in
                #expect(try await states(two) == ["one": "active", "two": "active"])
                let device = try await two.connectCourier(try await one.makeDeviceCertificate())
                let token = try await register(device)
                let stream = try await device.open(headers("GET", "/1/notifications"), endStream: true)
                let provider = try await two.connectProvider()
                let fields = ProviderHeaders(token, token: try one.providerToken()).fields
                #expect(try await provider.send(fields, body: #"{"aps":{"alert":"first"}}"#).status == 200)
                #expect(try await stream.nextLine()?.contains("first") == true)
                let asked = try await one.ask("POST", "/v1/nodes/two/drain", body: #"{"over":"PT0.2S"}"#)
                #expect(asked.status == 200 && asked.text.contains(#""state":"draining""#), "\(asked.text)")
                #expect(try await stream.nextLine() == #"{"end":"shutdown"}"#)
                #expect(try await provider.goAways().first?.contains("Shutdown") == true)
                try await wait(while: try await states(one)["two"] != "drained")
                await #expect(throws: (any Error).self) { try await two.connectProvider() }
                let ready = try await two.ask("GET", "/ready")
                #expect(ready.status == 503 && ready.text.contains("drained"))
                #expect(try await one.ask("GET", "/ready").status == 200)
                await provider.close()
                await device.close()
            }
        }

        @Test func `What is asked of the nodes and cannot be done gets a reason`() async throws {
            try await withTwo { one, two in
                let running = try await one.ask("DELETE", "/v1/nodes/two")
                #expect(running.status == 409 && running.text.contains("stop it first"), "\(running.text)")
                for (method, path) in [("GET", ""), ("DELETE", ""), ("POST", "/drain")] {
                    let missing = try await one.ask(
                        method, "/v1/nodes/three\(path)", body: method == "POST" ? "{}" : nil)
                    #expect(missing.status == 404 && missing.text.contains("no node three"), "\(missing.text)")
                }
                let long = try await one.ask("POST", "/v1/nodes/two/drain", body: #"{"over":"PT61M"}"#)
                #expect(long.status == 400 && long.text.contains("/over"))
                #expect(try await states(one)["two"] == "active")
            }
            try await TestService.run { test in
                let alone = try await test.ask("GET", "/v1/nodes")
                #expect(alone.status == 409 && alone.text.contains("PostgreSQL"))
            }
        }
    }
#endif
