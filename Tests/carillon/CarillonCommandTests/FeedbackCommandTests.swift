import CommonTesting
import Foundation
import Testing

@testable import ServiceTesting

/// `carillon feedback --every`. It has a service of its own, because reading the list empties it.
@Suite(.service(), .timeLimit(.minutes(2))) struct FeedbackCommandTests {
    @Test func `The list is read and the command stays until it is ended`() async throws {
        try await withTemporaryFolder { folder in
            let service = try CarillonProcess.current
            let certificate = try await service.makeProviderCertificate(in: folder)
            let identity = try await service.activate()
            let token = try await service.register("com.example.app", on: identity)
            _ = try await service.carillon(
                "device", "unregister", "--identity", identity, "--bundle-id", "com.example.app")
            let sent = try await service.sendBinary(token, certificate)
            #expect(sent.status == 0, "\(sent.errors)")
            let arguments = service.arguments("feedback", "--certificate", certificate, "--every", "24")
            try await ChildProcess.with(BuiltCommand.path, arguments) { child in
                let line = try FoundationJSON(await child.output.nextLine().orThrow("it ended: \(child.errors.text)"))
                #expect(line["token"] == .string(token))
                // This command reads once. It starts and ends in the time in which one that does not stay would end too.
                let once = try await service.carillon("feedback", "--certificate", certificate)
                #expect(once.status == 0, "\(once.errors)")
                #expect(child.isRunning, "\(child.errors.text)")
                child.signal(SIGTERM)
                #expect(await child.finished().status == 0)
            }
        }
    }
}
