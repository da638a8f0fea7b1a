import CommonTesting
import Foundation
import Service
import Testing

@testable import ServiceTesting

/// The documented behaviour of `carillon administrator`.
@Suite(.timeLimit(.minutes(2))) struct AdministratorCommandTests {
    @Test func `An administrator is made, listed, shown and revoked, and the certificate then has no access`()
        async throws
    {
        try await withTemporaryFolder { folder in
            try await CarillonProcess.with(["--management-tls", "127.0.0.1:0"]) { service in
                let file = folder + "/administrator.pem"
                let made = try await service.carillon("administrator", "create", "--out", file)
                #expect(made.status == 0, "\(made.errors)")
                #expect(try made.object.keys == ["path", "serial"])
                #expect(try permissions(ofFile: file) == 0o600)
                let serial = try made.object["serial"].flatMap(\.text).orThrow(made.errors)

                let description = try ServiceDescription.read(DataFolder(service.data))
                let remote = [
                    "CARILLON_MANAGEMENT_URL": "https://" + (try #require(description.managementTLS)),
                    "CARILLON_ADMINISTRATOR": file, "CARILLON_CA": service.ready.ca,
                ]
                func ask(_ arguments: String...) async throws -> ChildProcess.Finished {
                    try await BuiltCommand.run(arguments + ["--json"], environment: remote)
                }
                let listed = try await ask("administrator", "list")
                #expect(listed.status == 0, "\(listed.errors)")
                let administrators = try listed.objects
                #expect(administrators.map { $0["serial"]?.text } == [serial])
                #expect(administrators.first?.keys == ["made", "serial", "validUntil"])
                // It cannot make another one.
                #expect(try await ask("administrator", "create", "--out", folder + "/more.pem").status != 0)
                #expect(!FileManager.default.fileExists(atPath: folder + "/more.pem"))

                let revoked = try await ask("administrator", "revoke", serial)
                #expect(revoked.status == 0, "\(revoked.errors)")
                #expect(try revoked.object == ["serial": .string(serial)])
                #expect(try await ask("team", "list").status != 0)
                let shown = try await service.carillon("administrator", "show", serial)
                #expect(try shown.object.keys == ["made", "revoked", "serial", "validUntil"])
            }
        }
    }

    @Test func `A serial that is not listed is revoked only on request`() async throws {
        try await CarillonProcess.with { service in
            let serial = "4" + String(repeating: "a", count: 31)
            let refused = try await service.carillon("administrator", "revoke", serial)
            #expect(refused.status != 0 && refused.output.isEmpty)
            #expect(refused.errors.contains("carillon administrator list"), "\(refused.errors)")
            let revoked = try await service.carillon("administrator", "revoke", serial, "--unlisted")
            #expect(revoked.status == 0, "\(revoked.errors)")
            let listed = try await service.carillon("administrator", "list")
            #expect(try listed.objects.first?.keys == ["revoked", "serial", "validUntil"])
        }
    }
}
