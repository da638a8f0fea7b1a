import Notifications
import Service
import Testing

@testable import ServiceTesting

/// The size of device tokens varies (Guide, 2.1.4.4).
@Suite(.timeLimit(.minutes(2)))
struct DeviceTokenLengthTests {
    @Test(arguments: [32, 33, 80, 100]) func `Device tokens are as long as the setting says`(_ bytes: Int) async throws
    {
        try await TestService.run {
            $0.deviceTokenBytes = bytes
        } _: { test in
            let token = try await test.makeDeviceToken()
            #expect(token.utf8.count == 2 * bytes)
            let client = try await test.connectProvider()
            let headers = ProviderHeaders(token, token: try test.providerToken())
            #expect(try await client.send(headers.fields).status == 200)
            #expect(
                try await client.send(headers.with(":path", "/3/device/\(token.uppercased())").fields).status == 200)
            for other in [token + "00", String(token.dropLast(2)), String(token.dropLast()), token + token + token] {
                let refused = try await client.send(headers.with(":path", "/3/device/\(other)").fields)
                #expect(refused.reason == "BadDeviceToken")
            }
            await client.close()
        }
    }
}
