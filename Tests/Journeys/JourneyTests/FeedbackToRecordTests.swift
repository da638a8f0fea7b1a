import CommonTesting
import APNSProvider
import Foundation
import Notifications
import Testing

@testable import ServiceTesting

/// The client library reads the feedback service. The suite has a service of its own, because reading a feedback list
/// empties it.
@Suite(.service(), .timeLimit(.minutes(2))) struct FeedbackToRecordTests {
    @Test func `The feedback service feeds the record of device tokens`() async throws {
        try await withTemporaryFolder { folder in
            let service = try CarillonProcess.current
            let certificate = try await service.makeProviderCertificate(in: folder)
            var tokens: [String] = []
            for _ in 0..<2 {
                let identity = try await service.activate()
                tokens.append(try await service.register("com.example.app", on: identity))
                _ = try await service.carillon(
                    "device", "unregister", "--identity", identity, "--bundle-id", "com.example.app")
                #expect(try await service.sendBinary(tokens[tokens.count - 1], certificate).status == 0)
            }
            let parsed = tokens.compactMap { APNSProvider.DeviceToken($0) }
            try #require(parsed.count == 2)
            let (gone, back) = (parsed[0], parsed[1])
            let record = InMemoryDeviceTokens()
            await record.register(gone, topic: "com.example.app", at: Date() - 3600)
            // The app was registered again after the service had found that it was removed.
            await record.register(back, topic: "com.example.app", at: Date() + 3600)
            let address = try service.addresses(.development).feedback
            let reader = FeedbackReader(
                environment: try .custom(url: "https://\(address)", authority: .file(service.ready.ca)),
                credentials: try ProviderCredentials(certificateFile: certificate))
            let forgotten = try await reader.forgetInactive(in: record, topic: "com.example.app")
            #expect(forgotten.map(\.deviceToken) == [gone.hexadecimal])
            let left = await record.deviceTokens(for: "com.example.app")
            #expect(left == [back])
        }
    }
}
