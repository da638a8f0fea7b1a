import Foundation
import Notifications
import PrivateFiles
import SQLiteStore
import Service
import Testing
import Trust

@testable import ServiceTesting

/// The stored authority: as older services stored it, and with damage on disk.
struct KeptAuthorityTests {
    private let now = Timestamp.now()

    /// Calls `body` with a folder in which an authority is stored, and with the authority.
    private func withKept(_ body: (String, CertificateAuthority) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("kept-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await body(folder, try await load(folder))
    }

    private func load(_ folder: String, under externalRoot: ExternalRoot? = nil) async throws -> CertificateAuthority {
        try await SharedSecrets.load(from: FileSecrets(folder: folder), under: externalRoot, now: now).authority
    }

    private func file(_ folder: String, _ name: String = "authority.json") -> URL {
        URL(fileURLWithPath: folder).appendingPathComponent(name)
    }

    /// Changes the stored authority.
    private func change(_ folder: String, _ body: (inout [String: Any]) throws -> Void) throws {
        var object = try required(
            try JSONSerialization.jsonObject(with: Data(contentsOf: file(folder))) as? [String: Any])
        try body(&object)
        try JSONSerialization.data(withJSONObject: object).write(to: file(folder))
    }

    /// Leaves only the root's certificate, as if the operator had supplied the root.
    private func forgetRootKey(_ object: inout [String: Any]) throws {
        var root = try required(object["root"] as? [String: Any])
        root["key"] = nil
        object["root"] = root
    }

    @Test func `An authority that was made before administrators had certificates gets their issuer, once`()
        async throws
    {
        try await withKept { folder, authority in
            try change(folder) { $0["administrators"] = nil }
            let older = try Data(contentsOf: file(folder))
            let first = try await load(folder)
            let second = try await load(folder)
            #expect(first.secrets.administrators == second.secrets.administrators)
            #expect(first.secrets.administrators != authority.secrets.administrators)
            #expect(first.secrets.devices == authority.secrets.devices)
            #expect(try Data(contentsOf: file(folder)) == older)
            let made = try FileManager.default.attributesOfItem(atPath: file(folder, "administrators.json").path)
            #expect(made[.posixPermissions] as? Int == 0o600)
        }
    }

    @Test func `If the root's key is kept elsewhere, it has to be given once more`() async throws {
        try await withKept { folder, authority in
            try change(folder) {
                $0["administrators"] = nil
                try forgetRootKey(&$0)
            }
            let error = await #expect(throws: ServiceError.self) { _ = try await load(folder) }
            #expect(error?.cause.contains("authority.key") == true)
            let root = authority.secrets.root
            let externalRoot = ExternalRoot(certificatePEM: root.certificatePEM, keyPEM: try required(root.keyPEM))
            let fixed = try await load(folder, under: externalRoot).secrets
            #expect(fixed.root.keyPEM == nil)
            #expect(try await load(folder).secrets == fixed)
        }
    }

    @Test func `Nothing that another root has signed is stored`() async throws {
        try await withKept { folder, _ in
            try change(folder) {
                $0["administrators"] = nil
                try forgetRootKey(&$0)
            }
            var random = SystemRandomNumberGenerator()
            let other = try CertificateAuthority.create(now: Double(now.milliseconds) / 1000, using: &random)
                .secrets.root
            let externalRoot = ExternalRoot(certificatePEM: other.certificatePEM, keyPEM: try required(other.keyPEM))
            await #expect(throws: ServiceError.self) { _ = try await load(folder, under: externalRoot) }
            #expect(!FileManager.default.fileExists(atPath: file(folder, "administrators.json").path))
        }
    }

    @Test(arguments: [
        (#"{"root":{"certificate":"a"}}"#, "it has no servers"),
        (#"{"root":{"key":"a"}}"#, "it has no root.certificate"),
        (#"{"root":{"certificate":5}}"#, "its root.certificate has an invalid value"),
        (#"{"root":null}"#, "its root has an invalid value"), ("", "it is not a JSON dictionary"),
        ("[]", "it is not a JSON dictionary"), (#"{"root":"#, "it is not a JSON dictionary"),
    ])
    func `If the stored authority is damaged, the error says what is wrong and what to do`(
        _ text: String, fault: String
    ) async throws {
        try await withKept { folder, _ in
            try Data(text.utf8).write(to: file(folder))
            let error = await #expect(throws: ServiceError.self) { _ = try await load(folder) }
            #expect(
                error?.cause
                    == "The secret authority.json is damaged, \(fault): restore it from a backup, or start with a new folder."
            )
        }
    }
}
