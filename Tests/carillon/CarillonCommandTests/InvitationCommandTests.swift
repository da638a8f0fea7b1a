import CommonTesting
import Foundation
import Testing

@testable import ServiceTesting

/// The documented behaviour of `carillon device invitation`.
@Suite(.timeLimit(.minutes(2))) struct InvitationCommandTests {
    @Test func `An invitation is listed and withdrawn, and its code then admits no device`() async throws {
        try await withTemporaryFolder { folder in
            try await CarillonProcess.with { service in
                let invited = try await service.carillon("device", "invite", "--environment", "production")
                let code = try invited.object["code"].flatMap(\.text).orThrow(invited.errors)
                let id = try invited.object["id"].flatMap(\.text).orThrow(invited.errors)
                let listed = try await service.carillon("device", "invitation", "list")
                #expect(try listed.objects.map { $0["id"]?.text } == [id])
                #expect(try listed.objects.first?.keys == ["environment", "expires", "id"])
                #expect(try await service.carillon("device", "invitation", "show", id).object == listed.object)

                let withdrawn = try await service.carillon("device", "invitation", "withdraw", id)
                #expect(withdrawn.status == 0, "\(withdrawn.errors)")
                #expect(try withdrawn.object == listed.object)
                let made = try await service.carillon(
                    "device", "activate", "--environment", "production", "--code", code, "--out", folder + "/phone.pem")
                #expect(made.status != 0 && made.output.isEmpty)
                let again = try await service.carillon("device", "invitation", "withdraw", id)
                #expect(again.status != 0 && again.output.isEmpty)
                #expect(again.errors.contains("carillon device invitation list"), "\(again.errors)")
                #expect(try await service.carillon("device", "invitation", "list").output.isEmpty)
            }
        }
    }

    @Test func `A code is not used up if the identity cannot be written`() async throws {
        try await withTemporaryFolder { folder in
            try await CarillonProcess.with { service in
                let invited = try await service.carillon("device", "invite", "--environment", "production")
                let code = try invited.object["code"].flatMap(\.text).orThrow(invited.errors)
                func activate(_ file: String) async throws -> ChildProcess.Finished {
                    try await service.carillon(
                        "device", "activate", "--environment", "production", "--code", code, "--out", folder + file)
                }
                #expect(try await activate("/missing/phone.pem").status != 0)
                let made = try await activate("/phone.pem")
                #expect(made.status == 0, "\(made.errors)")
                // If the service refuses it, no file stays.
                #expect(try await activate("/other.pem").status != 0)
                #expect(!FileManager.default.fileExists(atPath: folder + "/other.pem"))
            }
        }
    }
}
