import Courier
import Delivery
import NIOCore
import Service
import Testing

@testable import ServiceTesting

/// Several acknowledgements in the body of one request (docs/device-protocol.md), over real TLS.
@Suite(.timeLimit(.minutes(2)))
struct AcknowledgementStreamTests {
    private func headers(_ method: String, _ path: String) -> [(String, String)] {
        [(":method", method), (":scheme", "https"), (":authority", "localhost"), (":path", path)]
    }

    /// A device that listens, and has an open request for acknowledgements.
    private struct Device {
        let test: TestService
        let client: WireClient
        let token: String
        let notifications: WireClient.Open
        let acknowledgements: WireClient.Open

        /// Sends to the device, and makes it acknowledge the notification. The provider must not get its 200 before
        /// that.
        func expectDelivery(of alert: String, acknowledge: (_ sending: String) async throws -> Void) async throws {
            async let answer = push(alert)
            let line = try required(try await nextLine())
            #expect(line.contains(alert))
            try await acknowledge(try required(line.firstMatch(of: /"sending":([0-9]+)/).map { String($0.1) }))
            #expect(try await answer.status == 200)
        }

        func nextLine() async throws -> String? {
            while let line = try await notifications.nextLine() {
                if !line.isEmpty { return line }
            }
            return nil
        }

        func push(_ alert: String) async throws -> WireClient.Answer {
            let provider = try await test.connectProvider()
            let fields = ProviderHeaders(token, token: try test.providerToken()).fields
            let answer = try await provider.send(fields, body: #"{"aps":{"alert":"\#(alert)"}}"#)
            await provider.close()
            return answer
        }
    }

    private func withDevice(
        _ change: (inout Settings) -> Void = { _ in },
        _ body: (Device) async throws -> Void,
    ) async throws {
        try await TestService.run {
            // With such a long time, no notification is stored while it waits for its acknowledgement.
            $0.delivery.acknowledgementGrace = .seconds(3600)
            change(&$0)
        } _: { test in
            let client = try await test.connectCourier(test.makeDeviceCertificate())
            let registered = try await client.send(headers("PUT", "/1/apps/com.example.app"), body: "")
            let device = Device(
                test: test, client: client,
                token: try required(registered.body.split(separator: "\"").dropFirst(3).first.map(String.init)),
                notifications: try await client.open(headers("GET", "/1/notifications"), endStream: true),
                acknowledgements: try await client.open(headers("POST", "/1/acknowledgements"), endStream: false))
            try await body(device)
            await client.close()
        }
    }

    @Test func `Each acknowledgement counts as soon as its line is complete, while the request goes on`() async throws {
        try await withDevice { device in
            for alert in ["One", "Two", "Three"] {
                try await device.expectDelivery(of: alert) { sending in
                    try await device.acknowledgements.write("{\"sendings\":[\(sending)]}\n")
                }
            }
            let answer = try await device.acknowledgements.finish()
            #expect(answer.status == 204)
        }
    }

    @Test func `The request may be split anywhere, and may contain line ends`() async throws {
        try await withDevice { device in
            try await device.expectDelivery(of: "One") { sending in
                for character in "\n{ \n\"sendings\" : [\n\(sending) ]\n}" {
                    try await device.acknowledgements.write(String(character))
                }
            }
        }
    }

    @Test func `A line that is not an acknowledgement ends the request; those before it count`() async throws {
        try await withDevice { device in
            try await device.expectDelivery(of: "One") { sending in
                try await device.acknowledgements.write("{\"sendings\":[\(sending)]}{\"sending\":1}")
            }
            let answer = try await device.acknowledgements.answer()
            #expect(answer.status == 400)
            #expect(answer.reason == "PayloadEmpty")
        }
    }

    @Test func `The whole request may have any length, but a single line may not`() async throws {
        try await withDevice {
            $0.courier.bodyBytes = 1000
        } _: { device in
            let one = #"{"sendings":[1,2,3]}"# + "\n"
            for _ in 0..<20 { try await device.acknowledgements.write(String(repeating: one, count: 10)) }
            try await device.expectDelivery(of: "One") { sending in
                try await device.acknowledgements.write("{\"sendings\":[\(sending)]}")
            }
            // White space between two acknowledgements belongs to neither.
            try await device.acknowledgements.write(String(repeating: " ", count: 2000))
            try await device.expectDelivery(of: "Two") { sending in
                try await device.acknowledgements.write("{\"sendings\":[\(sending)]}")
            }
            try await device.acknowledgements.write(#"{"sendings":["# + String(repeating: " ", count: 990) + "1]}")
            #expect(try await device.acknowledgements.answer().status == 413)
        }
    }

    @Test func `The request lasts as long as the device listens`() async throws {
        try await withDevice {
            $0.courier.requestTimeout = .milliseconds(1200)
            $0.courier.keepAlive = .seconds(3)
        } _: { device in
            // By the time of this line, the timer for slow requests has checked the connection more than once.
            #expect(try await device.notifications.nextLine() == "")
            try await device.expectDelivery(of: "One") { sending in
                try await device.acknowledgements.write("{\"sendings\":[\(sending)]}\n")
            }
            let other = try await device.test.connectCourier(device.test.makeDeviceCertificate())
            let alone = try await other.open(headers("POST", "/1/acknowledgements"), endStream: false)
            #expect(try await alone.answer().reason == "IdleTimeout")
            await other.close()
        }
    }

    /// Nobody is told of a request before all of its headers have come, so only the connection can end.
    @Test func `A connection with half of a request's headers is closed after the time of a request`() async throws {
        try await TestService.run {
            $0.courier.requestTimeout = .milliseconds(1200)
        } _: { test in
            let client = try await HandmadeClient(test, at: \.courier)
            try await client.beginHalf([(":method", "POST")])
            await client.ended()
        }
    }

    @Test func `Without a certificate a request for acknowledgements is refused`() async throws {
        try await TestService.run { test in
            let client = try await test.connectCourier()
            let request = try await client.open(headers("POST", "/1/acknowledgements"), endStream: false)
            #expect(try await request.answer().status == 403)
            await client.close()
        }
    }
}
