import CommonTesting
import Foundation
import Notifications
import Testing

@testable import ServiceTesting

/// The documented behaviour of `carillon certificate`, and whether openssl and curl can use its files.
@Suite(.service(), .timeLimit(.minutes(2))) struct CertificateCommandTests {
    private let bundleID = "com.example.app"

    private func create(
        _ out: String,
        environment: String = "universal",
        _ more: [String] = [],
    ) async throws -> ChildProcess.Finished {
        let service = try CarillonProcess.current
        return try await BuiltCommand.run(
            [
                "certificate", "create", "--data", service.data, "--json", "--team",
                try service.developmentProvider.teamID, "--bundle-id", bundleID, "--environment", environment, "--out",
                out,
            ] + more)
    }

    @Test func `Knows three environments`() async throws {
        try await withTemporaryFolder { folder in
            let made = try await create(folder + "/provider.pem", environment: "staging")
            #expect(made.status == 64)
            #expect(made.errors.contains("universal"))
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
        }
    }

    private func openssl(_ arguments: String...) async throws -> ChildProcess.Finished {
        try await ChildProcess.run("openssl", arguments)
    }

    @Test(arguments: ["development", "production", "universal"])
    func `Create prints the serial the topics and the path`(environment: String) async throws {
        try await withTemporaryFolder { folder in
            let path = folder + "/provider.pem"
            let made = try await create(path, environment: environment)
            #expect(made.status == 0, "\(made.errors)")
            let object = try made.object
            #expect(object.keys == ["path", "serial", "topics"])
            #expect(object["path"]?.text == path)
            #expect(
                object["topics"] == [
                    .string(bundleID), .string(bundleID + ".voip"), .string(bundleID + ".complication"),
                ])
            #expect(try permissions(ofFile: path) == 0o600)
            let serial = try #require(object["serial"]?.text)
            let shown = try await openssl("x509", "-in", path, "-noout", "-serial")
            #expect(shown.output.lowercased() == "serial=\(serial)\n")
        }
    }

    @Test func `Openssl verifies it and reads its topics`() async throws {
        try await withTemporaryFolder { folder in
            let path = folder + "/provider.pem"
            _ = try await create(path, ["--chain"])
            let ca = try CarillonProcess.current.ready.ca
            let verified = try await openssl(
                "verify", "-purpose", "sslclient", "-CAfile", ca, "-untrusted", path, path)
            #expect(verified.status == 0, "\(verified.errors)")
            let text = try await openssl("x509", "-in", path, "-noout", "-text").output
            #expect(text.contains("UID = \(bundleID)"))
            for identifier in ["6.3.1", "6.3.2", "6.3.6"] {
                #expect(text.contains("1.2.840.113635.100.\(identifier): \n"))
            }
        }
    }

    @Test func `A certificate is not overwritten`() async throws {
        try await withTemporaryFolder { folder in
            let path = folder + "/provider.pem"
            _ = try await create(path)
            let again = try await create(path)
            #expect(again.status != 0 && again.output.isEmpty && again.errors.contains(path))
        }
    }

    @Test func `It is made from a request and then holds no key`() async throws {
        try await withTemporaryFolder { folder in
            let requested = try await openssl(
                "req", "-new", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=anything", "-keyout",
                folder + "/key.pem", "-out", folder + "/request.pem")
            try #require(requested.status == 0, "\(requested.errors)")
            let path = folder + "/provider.pem"
            let made = try await create(path, ["--request", folder + "/request.pem"])
            #expect(made.status == 0, "\(made.errors)")
            let text = try String(contentsOfFile: path, encoding: .utf8)
            #expect(!text.contains("PRIVATE KEY"))
            let shown = try await openssl("x509", "-in", path, "-noout", "-subject")
            #expect(!shown.output.contains("anything"))
        }
    }

    @Test(arguments: ["--single-topic", "--mdm"])
    func `A certificate with a single topic lists none, which makes its UID the topic`(_ flag: String) async throws {
        try await withTemporaryFolder { folder in
            let path = folder + "/provider.pem"
            let made = try await create(path, [flag])
            #expect(try made.object["topics"] == .array([.string(bundleID)]))
            let text = try await openssl("x509", "-in", path, "-noout", "-text").output
            #expect(!text.contains("1.2.840.113635.100.6.3.6"))
        }
    }

    @Test func `Openssl opens PKCS 12 with its passphrase alone and curl sends with it`() async throws {
        try await withTemporaryFolder { folder in
            let (path, passphrase) = (folder + "/provider.p12", folder + "/passphrase")
            try "s3cret\n".write(toFile: passphrase, atomically: true, encoding: .utf8)
            let made = try await create(path, ["--format", "p12", "--passphrase-file", passphrase])
            #expect(made.status == 0, "\(made.errors)")
            #expect(try made.object["path"]?.text == path)
            #expect(try permissions(ofFile: path) == 0o600)
            let wrong = try await openssl("pkcs12", "-in", path, "-nodes", "-passin", "pass:other")
            #expect(wrong.status != 0)
            let opened = try await openssl("pkcs12", "-in", path, "-nodes", "-passin", "pass:s3cret")
            #expect(opened.status == 0, "\(opened.errors)")
            #expect(opened.output.components(separatedBy: "BEGIN CERTIFICATE").count == 2)
            // Libraries such as Go's accept exactly two bags.
            let listed = try await openssl("pkcs12", "-in", path, "-noout", "-info", "-passin", "pass:s3cret").errors
            let bags = listed.split(separator: "\n").filter { $0.hasSuffix("bag") || $0.contains("Keybag") }
            #expect(bags.count == 2, "\(listed)")
            #expect(opened.output.contains("BEGIN PRIVATE KEY"))

            let service = try CarillonProcess.current
            let token = try await service.register(bundleID, on: try await service.activate(.development))
            let pushed = try await ChildProcess.run(
                "curl",
                Curl.arguments(ca: service.ready.ca) + [
                    "--cert-type", "P12", "--cert", path + ":s3cret", "-H", "apns-topic: \(bundleID)", "--data-binary",
                    #"{"aps":{"alert":"Hello"}}"#, "-o", "/dev/null", "-w", "%{http_code}",
                    "https://\(try service.addresses(.development).provider)/3/device/\(token)",
                ])
            #expect(pushed.output == "200", "\(pushed.errors)")
        }
    }

    /// The line of docs/test-your-provider.md for libraries that read only old algorithms.
    @Test func `Openssl converts PKCS 12 for libraries that read only old algorithms`() async throws {
        try await withTemporaryFolder { folder in
            let (path, passphrase) = (folder + "/provider.p12", folder + "/passphrase")
            try "secret\n".write(toFile: passphrase, atomically: true, encoding: .utf8)
            let made = try await create(path, ["--format", "p12", "--passphrase-file", passphrase])
            #expect(made.status == 0, "\(made.errors)")
            let page = try String(
                contentsOf: Repository.root.appending(path: "docs/test-your-provider.md"), encoding: .utf8)
            let start = try #require(page.range(of: "openssl pkcs12 -in provider.p12"))
            let end = try #require(page[start.lowerBound...].range(of: "```"))
            let line = String(page[start.lowerBound..<end.lowerBound])
            #expect(line.contains("-legacy"))
            let converted = try await ChildProcess.run("sh", ["-c", line], folder: folder)
            #expect(converted.status == 0, "\(converted.errors)")
            let shown = try await openssl(
                "pkcs12", "-legacy", "-in", folder + "/legacy.p12", "-passin", "pass:secret", "-nodes", "-info")
            #expect(shown.errors.contains("pbeWithSHA1And3-KeyTripleDES-CBC") && !shown.errors.contains("PBES2"))
            #expect(shown.output.components(separatedBy: "BEGIN CERTIFICATE").count == 2)
        }
    }

    @Test(arguments: [([], 1), (["--chain"], 2)] as [([String], Int)])
    func `The file has the certificate and its key alone unless the chain is asked for`(
        _ more: [String], _ count: Int,
    ) async throws {
        try await withTemporaryFolder { folder in
            _ = try await create(folder + "/provider.pem", more)
            let text = try String(contentsOfFile: folder + "/provider.pem", encoding: .utf8)
            #expect(text.components(separatedBy: "BEGIN CERTIFICATE").count == 1 + count)
            #expect(text.components(separatedBy: "BEGIN PRIVATE KEY").count == 2)
        }
    }

    @Test(arguments: [
        ["--format", "pfx"], ["--format", "p12"], ["--passphrase-file", "passphrase"],
        ["--format", "p12", "--passphrase-file", "passphrase", "--request", "request.pem"],
    ])
    func `A format that cannot be is a wrong use`(_ options: [String]) async throws {
        try await withTemporaryFolder { folder in
            let made = try await create(folder + "/provider.p12", options)
            #expect(made.status == 64 && made.output.isEmpty && !made.errors.isEmpty)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
        }
    }

    @Test(arguments: ["two\nlines\n", String(repeating: "x", count: 101), "🔔", nil])
    func `A passphrase that cannot be is refused and nothing is made`(_ passphrase: String?) async throws {
        try await withTemporaryFolder { folder in
            let file = folder + "/passphrase"
            try passphrase?.write(toFile: file, atomically: true, encoding: .utf8)
            let made = try await create(folder + "/provider.p12", ["--format", "p12", "--passphrase-file", file])
            #expect(made.status == 1 && made.output.isEmpty && made.errors.contains(file))
            #expect(!FileManager.default.fileExists(atPath: folder + "/provider.p12"))
        }
    }

    @Test func `Curl sends with it and is refused once it is revoked`() async throws {
        try await withTemporaryFolder { folder in
            let service = try CarillonProcess.current
            let path = folder + "/provider.pem"
            let serial = try #require(try await create(path, ["--chain"]).object["serial"]?.text)
            let token = try await service.register(bundleID, on: try await service.activate(.development))
            let url = "https://\(try service.addresses(.development).provider)/3/device/\(token)"
            func push() async throws -> Curl.Response {
                try await Curl.request(
                    "POST", url, ca: service.ready.ca, headers: [("apns-topic", bundleID)],
                    body: Array(#"{"aps":{"alert":"Hello"}}"#.utf8), identity: path)
            }
            #expect(try await push().status == 200)
            let revoked = try await service.carillon("certificate", "revoke", serial)
            #expect(revoked.status == 0)
            #expect(try revoked.object == ["serial": .string(serial)])
            await #expect(throws: UnexpectedOutput.self) { try await push() }

            let list = try await service.carillon("certificate", "crl", "--out", folder + "/crl.pem")
            #expect(list.status == 0)
            let read = try await openssl("crl", "-in", folder + "/crl.pem", "-noout", "-text")
            #expect(read.output.contains("Serial Number: \(serial.uppercased())"))
            let verified = try await openssl(
                "verify", "-crl_check", "-CRLfile", folder + "/crl.pem", "-CAfile", service.ready.ca, "-untrusted",
                path, path)
            #expect(verified.status != 0 && verified.errors.contains("certificate revoked"))
        }
    }

    @Test func `An unknown serial cannot be revoked`() async throws {
        let serial = "4" + String(repeating: "0", count: 31)
        let revoked = try await CarillonProcess.current.carillon("certificate", "revoke", serial)
        #expect(revoked.status != 0 && revoked.output.isEmpty && revoked.errors.contains(serial))
    }

    @Test(arguments: [
        ("team", "teamID"), ("app", "bundleID"), ("key", "keyID"), ("certificate", "serial"),
    ])
    func `List shows each and show one`(command: String, name: String) async throws {
        try await withTemporaryFolder { folder in
            _ = try await create(folder + "/provider.pem")
            let service = try CarillonProcess.current
            let listed = try await service.carillon(command, "list")
            #expect(listed.status == 0)
            let lines = listed.output.split(separator: "\n")
            #expect(!lines.isEmpty)
            let first = try FoundationJSON(Data(try #require(lines.first).utf8))
            let shown = try await service.carillon(command, "show", try #require(first[name]?.text))
            #expect(shown.status == 0)
            let one = try FoundationJSON(Data(shown.output.utf8))
            // Other tests add apps and keys to the same team at the same time, and revoke certificates, which get a member by it.
            #expect(first.keys.isSubset(of: one.keys) && one[name] == first[name])
        }
    }

    @Test func `Show of what is not there fails`() async throws {
        for (command, name) in [("team", "ZZZZZZZZZZ"), ("app", "com.example.none"), ("key", "ZZZZZZZZZZ")] {
            let shown = try await CarillonProcess.current.carillon(command, "show", name)
            #expect(shown.status != 0 && shown.output.isEmpty && shown.errors.contains(name))
        }
    }
}
