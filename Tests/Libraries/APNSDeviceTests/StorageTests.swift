import Foundation
import Testing

@testable import APNSDevice

struct StorageTests {
    private static func path() -> String {
        FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
    }

    private static func identifier(_ number: Int) -> String {
        let digits = String(number)
        return "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits
    }

    @Test func `Identifiers that were stored in a file are still known after a restart`() throws {
        let path = Self.path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        try FileIdentifiers(path: path).insert(Self.identifier(1))
        let second = try FileIdentifiers(path: path)
        #expect(second.contains(Self.identifier(1)))
        #expect(!second.contains(Self.identifier(2)))
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
    }

    @Test func `The file keeps the newest identifiers, and its size is limited`() throws {
        let path = Self.path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let file = try FileIdentifiers(path: path, capacity: 10)
        for number in 1...1000 { try file.insert(Self.identifier(number)) }
        #expect(file.contains(Self.identifier(991)) && !file.contains(Self.identifier(990)))
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)).count <= 41 * 37)
        #expect(try FileIdentifiers(path: path, capacity: 10).contains(Self.identifier(1000)))
    }

    @Test func `Incomplete lines and lines that are not identifiers are ignored`() throws {
        let path = Self.path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data("nonsense\n\(Self.identifier(1))\n\(Self.identifier(2).prefix(20))".utf8)
            .write(to: URL(fileURLWithPath: path))
        let file = try FileIdentifiers(path: path)
        #expect(file.contains(Self.identifier(1)) && !file.contains(Self.identifier(2)))
        try file.insert(Self.identifier(3))
        #expect(try FileIdentifiers(path: path).contains(Self.identifier(3)))
    }

    @Test func `A file that cannot be written is reported`() {
        let error = #expect(throws: DeviceError.self) { _ = try FileIdentifiers(path: "/nowhere/file") }
        #expect(error?.code == .storage)
    }

    @Test func `In memory, the newest identifiers are kept`() {
        let memory = MemoryIdentifiers(capacity: 2)
        for number in 1...3 { memory.insert(Self.identifier(number)) }
        #expect(!memory.contains(Self.identifier(1)) && memory.contains(Self.identifier(3)))
    }

    private let identity = DeviceIdentity(
        environment: DeviceIdentity.Environment.production, deviceID: "0123456789abcdef",
        keyPEM: "-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----",
        chainPEM: "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n")

    @Test func `An identity file is read as it was written, and only its owner can read it`() throws {
        let path = Self.path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        try identity.write(to: path)
        #expect(try DeviceIdentity(path: path) == identity)
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
        #expect(!"\(identity) \(String(reflecting: identity))".contains("AA=="))
    }

    @Test(arguments: ["Environment: ", "Device: ", "BEGIN PRIVATE KEY", "END PRIVATE KEY", "BEGIN CERTIFICATE"])
    func `A text that lacks a part is not an identity`(_ part: String) {
        #expect(DeviceIdentity(text: identity.text.replacingOccurrences(of: part, with: "x")) == nil)
    }

    @Test func `An identity is read with CRLF, with blanks, and with the certificate first`() {
        let crlf = identity.text.replacing("\n", with: "\r\n")
        #expect(DeviceIdentity(text: crlf) == identity)
        #expect(DeviceIdentity(text: crlf.replacing("\r\n", with: "  \t\r\n")) == identity)
        let labels = "Environment: production\nDevice: 0123456789abcdef\n"
        for text in [
            labels + identity.chainPEM + identity.keyPEM, identity.chainPEM + labels + identity.keyPEM,
            identity.chainPEM + identity.keyPEM + "\n" + labels,
        ] {
            #expect(DeviceIdentity(text: text) == identity)
        }
    }

    @Test(arguments: [
        ("PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "the private key has a passphrase"),
        ("PRIVATE KEY", "CERTIFICATE", "there is no private key in the text, but a certificate"),
        ("Device: ", "Gerät: ", "there are no lines Environment: "),
    ])
    func `What is wrong with an identity file is said`(_ text: String, _ other: String, _ cause: String) throws {
        let path = Self.path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        try identity.text.replacing(text, with: other).write(toFile: path, atomically: true, encoding: .utf8)
        let error = #expect(throws: DeviceError.self) { try DeviceIdentity(path: path) }
        #expect(error?.code == .badIdentity && error?.cause.contains(cause) == true, "\(String(describing: error))")
    }

    @Test func `A file that is too long is not an identity`() {
        #expect(DeviceIdentity(text: identity.text + String(repeating: "\n", count: 70_000)) == nil)
    }
}
