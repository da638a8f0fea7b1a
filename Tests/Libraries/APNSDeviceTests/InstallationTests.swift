import CommonTesting
import Foundation
import Notifications
import Testing

@testable import APNSDevice

/// What an app tells the provider server, what it keeps about it, and where it sends it.
struct InstallationTests {
    // MARK: The body of the request

    @Test
    func `The same installation always has the same body`() throws {
        var one = AppInstallation(deviceToken: "00fc", environment: .development, languages: ["sv"], timeZone: nil)
        var other = one
        one.tags = ["b", "a", "c"]
        one.values = ["name": "Anna", "city": "Umeå"]
        other.tags = ["c", "b", "a"]
        other.values = ["city": "Umeå", "name": "Anna"]
        #expect(try one.body(bundleID: "com.example.shop") == other.body(bundleID: "com.example.shop"))
        other.appVersion = "2"
        #expect(try one.body(bundleID: nil) != other.body(bundleID: nil))
    }

    @Test
    func `The body has what the app said, and nothing for what it left out`() throws {
        let installation = AppInstallation(
            deviceToken: "00fc", environment: .production, languages: ["sv-SE", "en"], timeZone: "Europe/Stockholm",
            user: "anna", tags: ["news"], appVersion: "2.1", values: ["name": "Anna"],
            tokens: [.fileProvider: "02", .mdm: "03"], activities: ["order-17": "01"])
        let body = String(decoding: try installation.body(bundleID: "com.example.shop"), as: UTF8.self)
        #expect(
            body == """
                {"activities":{"order-17":"01"},"appTags":["news"],"appValues":{"name":"Anna"},"appVersion":"2.1",\
                "bundleID":"com.example.shop","deviceToken":"00fc","environment":"production",\
                "languages":["sv-SE","en"],"timeZone":"Europe/Stockholm","tokens":{"fileprovider":"02"},"user":"anna"}
                """)
        let bare = AppInstallation(deviceToken: "00fc", environment: .development, languages: [], timeZone: nil)
        #expect(
            String(decoding: try bare.body(bundleID: nil), as: UTF8.self)
                == #"{"appTags":[],"appValues":{},"deviceToken":"00fc","environment":"development","languages":[]}"#)
    }

    @Test
    func `Each service has the name of its push type`() {
        let names = PushType.allCases.filter { ($0.topicKind ?? .app) != .app }.map(\.rawValue)
        #expect(AppInstallation.Service.withTokens.map(\.rawValue).sorted() == names.sorted())
    }

    @Test
    func `Of many languages the first ten are sent`() throws {
        struct Sent: Decodable { let languages: [String] }
        let languages = (1...12).map { "x-\($0)" }
        let installation = AppInstallation(deviceToken: "00", environment: .development, languages: languages)
        let sent = try JSONDecoder().decode(Sent.self, from: installation.body(bundleID: nil))
        #expect(sent.languages == Array(languages.prefix(10)))
    }

    // MARK: The file

    @Test
    func `A new installation is written before it is used, and only its owner may read it`() async throws {
        try await withTemporaryPath { path in
            let new = try InstallationFile(path: path).read()
            #expect(UUID(uuidString: new.id) != nil && new.sent == nil && new.sentAt == nil)
            #expect(Data(base64Encoded: new.secret)?.count == 32)
            #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
            #expect(try InstallationFile(path: path).read() == new)
        }
    }

    @Test
    func `What was written is read back`() async throws {
        try await withTemporaryPath { path in
            let file = InstallationFile(path: path)
            var content = try file.read()
            content.sent = "digest"
            content.sentAt = Date(timeIntervalSince1970: 1_800_000_000)
            try file.write(content)
            #expect(try file.read() == content)
        }
    }

    @Test(arguments: ["", "{", #"{"id":"5"}"#])
    func `A damaged file is replaced by a new installation`(text: String) async throws {
        try await withTemporaryPath { path in
            try text.write(toFile: path, atomically: true, encoding: .utf8)
            let new = try InstallationFile(path: path).read()
            #expect(UUID(uuidString: new.id) != nil)
            #expect(try InstallationFile(path: path).read() == new)
        }
    }

    @Test
    func `A file that cannot be read or written is an error, and no new installation`() async throws {
        try await withTemporaryPath { path in
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            for place in [path, path + "/none/file"] {
                let error = #expect(throws: DeviceError.self) { try InstallationFile(path: place).read() }
                #expect(error?.code == .storage)
            }
        }
    }

    @Test
    func `The digest differs with the server and with the body`() {
        let digests = [("https://a", "b"), ("https://a", "c"), ("https://d", "b")].map {
            InstallationFile.digest($0, Data($1.utf8))
        }
        #expect(Set(digests).count == 3)
        #expect(digests[0] == InstallationFile.digest("https://a", Data("b".utf8)))
    }

    // MARK: The address

    @Test(
        arguments: [
            ("https://push.example.com", "push.example.com", 443, "", "push.example.com", "push.example.com"),
            ("https://push.example.com/", "push.example.com", 443, "", "push.example.com", "push.example.com"),
            (
                "HTTPS://push.example.com:8443/a%20b/", "push.example.com", 8443, "/a%20b", "push.example.com:8443",
                "push.example.com"
            ),
            ("http://localhost", "localhost", 80, "", "localhost", "localhost"),
            ("http://127.0.0.1:2190", "127.0.0.1", 2190, "", "127.0.0.1:2190", nil),
            ("http://[::1]:2190", "::1", 2190, "", "[::1]:2190", nil),
            ("https://[2001:db8::5]", "2001:db8::5", 443, "", "[2001:db8::5]", nil),
        ] as [(String, String, Int, String, String, String?)])
    func `An address is read`(
        text: String, host: String, port: Int, path: String, authority: String, serverName: String?
    ) throws {
        let address = try ProviderServerAddress(text, authorityFile: nil)
        #expect(address.host == host && address.port == port && address.path == path)
        #expect(address.authority == authority && address.serverName == serverName)
        #expect((address.tls != nil) == text.lowercased().hasPrefix("https"))
        #expect(!address.url.hasSuffix("/"))
    }

    @Test(arguments: [
        "", "push.example.com", "ftp://push.example.com", "https://", "https://a?b=c", "https://a#b",
        "https://user@a", "https://a:0", "https://a:65536",
        // Without TLS the key and the secret would cross the network in the clear.
        "http://push.example.com", "http://192.0.2.7", "http://127.evil.example", "http://localhost.example.com",
    ])
    func `An address that is none, or that has no TLS, is refused`(text: String) {
        let error = #expect(throws: DeviceError.self) { try ProviderServerAddress(text, authorityFile: nil) }
        #expect(error?.code == .badAddress)
    }

    @Test
    func `Certificates that cannot be read are an error of their own`() {
        let error = #expect(throws: DeviceError.self) {
            try ProviderServerAddress("https://push.example.com", authorityFile: "/none/ca.pem")
        }
        #expect(error?.code == .badAuthority)
        #expect(error?.cause.contains("/none/ca.pem") == true)
    }
}
