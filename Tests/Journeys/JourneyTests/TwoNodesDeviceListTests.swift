#if PostgreSQL
    import CommonTesting
    import Foundation
    import Management
    import NIOHTTP1
    import PostgresTesting
    import Testing

    @testable import Service
    @testable import ServiceTesting

    /// `GET /v1/devices` of two services on one database, over real TLS (docs/administration.md#devices).
    @Suite(.timeLimit(.minutes(2)))
    struct TwoNodesDeviceListTests {
        /// The answer of a node about devices.
        private struct Listed {
            let devices: [ManagementMessages.Device]
            /// The nodes that it names as not answering; nil if it names none.
            let unanswered: String?

            init(_ path: String, at node: TestService) async throws {
                let answer = try await node.ask("GET", path)
                #expect(answer.status == 200, "\(answer.text)")
                unanswered = answer.headers.first(name: "carillon-unanswered")
                let isList = answer.body.first == UInt8(ascii: "[")
                devices =
                    isList
                    ? try JSONDecoder().decode([ManagementMessages.Device].self, from: answer.body)
                    : [try JSONDecoder().decode(ManagementMessages.Device.self, from: answer.body)]
            }

            /// Asks until the node shows its own device as connected: it first takes the device in the store.
            static func untilConnected(_ path: String, at node: TestService) async throws -> ManagementMessages.Device {
                try await firstValue {
                    let device = try required(try await Listed(path, at: node).devices.first)
                    return device.connected ? device : nil
                }
            }
        }

        private func push(
            _ token: String,
            priority: String = "5",
            keyOf one: TestService,
            at node: TestService,
        ) async throws {
            let client = try await node.connectProvider()
            let fields = ProviderHeaders(token, token: try one.providerToken()).fields
            #expect(try await client.send(fields + [("apns-priority", priority)]).status == 200)
            await client.close()
        }

        @Test func `Each node shows the devices of the other one as connected, with what they hold`() async throws {
            try await TwoServices.runConnected { one, two in
                let (device, certificate) = try await two.connectRegistered()
                let (id, stream) = (try await one.deviceID(of: certificate), try await device.listen())
                let connected = try await Listed.untilConnected("/v1/devices", at: two)
                let token = try required(connected.apps.first?.token)
                // When something arrives, the mailboxes have been read. What comes now waits for the device's power.
                try await push(token, priority: "10", keyOf: one, at: two)
                #expect(try await stream.nextLine()?.contains("Hello") == true)
                let low = try await device.send(
                    TestService.deviceHeaders("POST", "/1/state"), body: #"{"power":"low"}"#)
                #expect(low.status == 204)
                // The mailbox has the newer one only, and the node with the connection holds both.
                for _ in 0..<2 { try await push(token, keyOf: one, at: two) }
                let own = try required(try await Listed("/v1/devices", at: two).devices.first)
                #expect(own.power == "low" && own.since != nil && own.apps.map(\.waiting) == [2])
                for path in ["/v1/devices", "/v1/devices/\(id)"] {
                    let listed = try await Listed(path, at: one)
                    #expect(listed.unanswered == nil && listed.devices.count == 1)
                    let seen = try required(listed.devices.first)
                    #expect(seen.deviceID == id && seen.connected && seen.since == own.since && seen.power == "low")
                    #expect(seen.apps.map(\.waiting) == [2] && seen.apps.map(\.token) == [token])
                }
                await device.close()
                try await wait(while: try await Listed("/v1/devices", at: one).devices.first?.connected == true)
                let gone = try required(try await Listed("/v1/devices/\(id)", at: one).devices.first)
                #expect(gone.since == nil && gone.power == nil && gone.apps.map(\.waiting) == [1])
            }
        }

        @Test func `Devices of both nodes are on the same pages, and one without an app is found by its ID`()
            async throws
        {
            try await TwoServices.runConnected { one, two in
                var ids: [String] = []
                var open: [WireClient] = []
                for node in [one, two, one, two] {
                    let (device, certificate) = try await node.connectRegistered()
                    _ = try await device.listen()
                    open.append(device)
                    ids.append(try await node.deviceID(of: certificate))
                    _ = try await Listed.untilConnected("/v1/devices/\(ids[ids.count - 1])", at: node)
                }
                for node in [one, two] {
                    var (path, seen): (String?, [ManagementMessages.Device]) = ("/v1/devices?limit=3", [])
                    while let next = path {
                        let page = try await node.ask("GET", next)
                        seen += try JSONDecoder().decode([ManagementMessages.Device].self, from: page.body)
                        path = page.headers["link"].first?.split(whereSeparator: { "<>".contains($0) }).first
                            .map(String.init)
                    }
                    #expect(seen.map(\.deviceID) == ids.sorted() && seen.allSatisfy(\.connected))
                }
                let certificate = try await two.makeDeviceCertificate()
                let bare = try await two.connectCourier(certificate)
                _ = try await bare.listen()
                let id = try await two.deviceID(of: certificate)
                try await Self.untilListed(id, at: two)
                #expect(try await Listed("/v1/devices/\(id)", at: one).devices.first?.connected == true)
                // Only its own node knows it, so it is not in the other one's list.
                #expect(try await Listed("/v1/devices", at: one).devices.map(\.deviceID) == ids.sorted())
                for device in open + [bare] { await device.close() }
            }
        }

        private static func untilListed(_ id: String, at node: TestService) async throws {
            try await wait(while: try await node.ask("GET", "/v1/devices/\(id)").status != 200)
        }

        @Test func `A node that cannot be asked is named, and the answer comes without it`() async throws {
            // The services have no addresses for each other.
            try await TwoServices.run { one, two in
                let (device, certificate) = try await two.connectRegistered()
                let id = try await one.deviceID(of: certificate)
                _ = try await device.listen()
                let own = try await Listed.untilConnected("/v1/devices/\(id)", at: two)
                #expect(own.deviceID == id && own.power == "awake")
                for path in ["/v1/devices", "/v1/devices/\(id)"] {
                    let listed = try await Listed(path, at: one)
                    #expect(listed.unanswered == "two" && listed.devices.map(\.deviceID) == [id])
                    #expect(listed.devices.allSatisfy { !$0.connected && $0.since == nil && $0.power == nil })
                }
                // The node knows all about its own device, so it asks nobody.
                #expect(try await Listed("/v1/devices/\(id)", at: two).unanswered == nil)
                let missing = try await one.ask("GET", "/v1/devices/0000000000000001")
                #expect(missing.status == 404)
                #expect((missing.problem?["detail"] as? String)?.contains("did not answer: two") == true)
                await device.close()
            }
        }
    }
#endif
