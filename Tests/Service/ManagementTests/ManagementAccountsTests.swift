import APNSProvider
import Credentials
import Crypto
import Foundation
import Management
import NIOHTTP1
import NIOSSL
import Notifications
import Service
import Testing

@testable import ServiceTesting

/// Teams, apps and keys in the management API: the caller's own identifiers and keys, deletion, and lists.
@Suite(.timeLimit(.minutes(2))) struct ManagementAccountsTests {
    private typealias Messages = ManagementMessages

    // MARK: The caller's own identifiers and keys

    @Test func `A team is created with the identifiers and the key that its tests already use`() async throws {
        try await TestService.run { test in
            let key = P256.Signing.PrivateKey()
            let team: Messages.TeamMade = try await test.administer(
                "POST", "/v1/teams", Messages.NewTeam(name: "Shop", teamID: "ABCDE12345"))
            #expect(team.teamID == "ABCDE12345")
            let _: Messages.AppMade = try await test.administer(
                "POST", "/v1/apps", Messages.NewApp(team: team.teamID, bundleID: "com.example.shop"))
            let forms: [(String, Messages.NewKey)] = [
                (
                    "KEY0000001",
                    Messages.NewKey(team: team.teamID, keyID: "KEY0000001", privateKey: key.pemRepresentation)
                ),
                (
                    "KEY0000002",
                    Messages.NewKey(team: team.teamID, keyID: "KEY0000002", publicKey: key.publicKey.pemRepresentation)
                ),
                (
                    "KEY0000003",
                    Messages.NewKey(
                        team: team.teamID, keyID: "KEY0000003",
                        publicKey: key.publicKey.x963Representation.base64EncodedString())
                ),
            ]
            for (name, form) in forms {
                let made: Messages.KeyMade = try await test.administer("POST", "/v1/keys", form)
                #expect(made.keyID == name && made.privateKey == nil)
                let status = try await status(key.pemRepresentation, name, team.teamID, "com.example.shop", test)
                // The key is accepted. The rejection says that the device token belongs to another app.
                #expect(status == 400)
            }
        }
    }

    /// The status of a push that is signed with the key, to a device token of the development team's app.
    private func status(
        _ pem: String,
        _ keyID: String,
        _ teamID: String,
        _ topic: String,
        _ test: TestService,
    ) async throws -> Int {
        let credentials = try ProviderCredentials(key: pem, keyID: keyID, teamID: teamID)
        let token = try credentials.token(at: UInt64(Date().timeIntervalSince1970))
        let client = try await test.connectProvider()
        let answer = try await client.send(
            ProviderHeaders(try await test.makeDeviceToken(), topic: topic, token: token).fields)
        await client.close()
        return answer.status
    }

    @Test func `The service makes a key on request, and shows its private half only once`() async throws {
        try await TestService.run { test in
            let team = try required(test.description.key).teamID
            let made: Messages.KeyMade = try await test.administer("POST", "/v1/keys", Messages.NewKey(team: team))
            let pem = try required(made.privateKey)
            #expect(try await status(pem, made.keyID, team, test.bundleID, test) == 200)
            let shown = try await test.manage("GET", "/v1/keys/\(made.keyID)")
            #expect(!String(decoding: shown.body, as: UTF8.self).contains("PRIVATE"))
        }
    }

    /// The door checks nothing of PEM, because its only reader knows what is wrong.
    @Test(
        arguments: [
            ("", "The text is empty."),
            ("-\0-\0-\0-\0-\0B\0E\0G\0I\0N\0 \0X\0-\0-\0-\0-\0-\0", "This is text in UTF-16; save it as UTF-8."),
            ("MIIB", "This is not PEM: there is no line -----BEGIN …-----."),
        ])
    func `What is not PEM gets the sentence of the reader of PEM, with the place`(
        _ text: String, _ sentence: String
    ) async throws {
        try await TestService.runInMemory { test in
            let team = try required(test.description.key).teamID
            let pem = JSONString.quoted(text)
            let app = #""team":"\#(team)","bundleID":"\#(test.bundleID)""#
            let requests: [(method: String, path: String, body: String, pointer: String)] = [
                ("POST", "/v1/keys", #"{"team":"\#(team)","privateKey":\#(pem)}"#, "/privateKey"),
                ("POST", "/v1/certificates", #"{\#(app),"environment":"universal","request":\#(pem)}"#, "/request"),
                (
                    "PUT", "/v1/apps/\(test.bundleID)/upstreams/development",
                    #"{"credentials":{"kind":"passthrough"},"authority":\#(pem)}"#, "/authority"
                ),
            ]
            for (method, path, body, pointer) in requests {
                let answer = try await test.ask(method, path, body: body)
                #expect(answer.status == 400 && answer.problem?["pointer"] as? String == pointer, "\(answer.text)")
                let detail = try required(answer.problem?["detail"] as? String).lowercased()
                // In the middle of a sentence it begins with a small letter and has no period.
                #expect(detail.contains(sentence.dropLast().lowercased()), "\(detail)")
            }
        }
    }

    @Test func `An item that exists is 409, an invalid one 400, and a missing one 404`() async throws {
        try await TestService.run { test in
            let team = try required(test.description.key).teamID
            let rsa = "-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----"
            let key = try required(test.description.key).keyID
            let requests: [(String, String, Int, String?)] = [
                ("/v1/teams", #"{"name":"Again","teamID":"\#(team)"}"#, 409, nil),
                ("/v1/teams", #"{"name":"Shop","teamID":"a team"}"#, 400, "/teamID"),
                ("/v1/apps", #"{"team":"NOSUCHTEAM","bundleID":"com.example.a"}"#, 409, nil),
                ("/v1/apps", #"{"team":"\#(team)","bundleID":"\#(test.bundleID)"}"#, 409, nil),
                ("/v1/keys", #"{"team":"\#(team)","keyID":"\#(key)"}"#, 409, nil),
                (
                    "/v1/keys", #"{"team":"\#(team)","privateKey":"\#(rsa.replacing("\n", with: "\\n"))"}"#, 400,
                    "/privateKey"
                ),
                ("/v1/keys", #"{"team":"\#(team)","publicKey":"AAAA"}"#, 400, "/publicKey"),
                ("/v1/keys", #"{"team":"\#(team)","bundleIDs":[]}"#, 400, "/bundleIDs"),
                (
                    "/v1/certificates", #"{"team":"\#(team)","bundleID":"com.example.none","environment":"universal"}"#,
                    409, nil
                ),
                (
                    "/v1/certificates", #"{"team":"\#(team)","bundleID":"\#(test.bundleID)","environment":"both"}"#,
                    400, "/environment"
                ),
            ]
            for (path, body, status, pointer) in requests {
                let answer = try await test.ask("POST", path, body: body)
                #expect(answer.status == status, "\(path) \(body): \(answer.text)")
                #expect(answer.problem?["pointer"] as? String == pointer)
            }
            for path in [
                "teams/NOSUCHTEAM", "apps/com.example.none", "keys/NOSUCHKEY0",
                "certificates/" + String(repeating: "0", count: 32),
            ] {
                #expect(try await test.ask("GET", "/v1/" + path).status == 404)
                #expect(try await test.ask("DELETE", "/v1/" + path).status == 404)
            }
        }
    }

    @Test func `Without a key in the request the service makes a certificate's key`() async throws {
        try await TestService.run { test in
            let made: Messages.CertificateMade = try await test.administer(
                "POST", "/v1/certificates",
                Messages.NewCertificate(
                    team: try required(test.description.key).teamID, bundleID: test.bundleID,
                    environment: "development"))
            let certificate = ClientCertificate(
                serial: made.serial, chainPEM: made.chain, keyPEM: try required(made.privateKey))
            let client = try await test.connectProvider(certificate)
            let headers = ProviderHeaders(try await test.makeDeviceToken(), token: nil)
            #expect(try await client.send(headers.fields).status == 200)
            await client.close()
        }
    }

    @Test func `The intermediate is returned only if it is asked for`() async throws {
        try await TestService.run { test in
            for (asked, count) in [(nil, 1), (false, 1), (true, 2)] as [(Bool?, Int)] {
                let made: Messages.CertificateMade = try await test.administer(
                    "POST", "/v1/certificates",
                    Messages.NewCertificate(
                        team: try required(test.description.key).teamID, bundleID: test.bundleID,
                        environment: "development", includesChain: asked, format: "p12", passphrase: "x"))
                #expect(try NIOSSLCertificate.fromPEMBytes(Array(made.chain.utf8)).count == count)
                let p12 = [UInt8](try required(Data(base64Encoded: required(made.p12))))
                let bundle = try NIOSSLPKCS12Bundle(buffer: p12, passphrase: Array("x".utf8))
                #expect(bundle.certificateChain.count == count)
            }
        }
    }

    @Test(arguments: ["s3cret", "Schlüssel", ""])
    func `A certificate can be returned as PKCS12 with its key, encrypted with the passphrase`(
        _ passphrase: String
    ) async throws {
        try await TestService.run { test in
            let made: Messages.CertificateMade = try await test.administer(
                "POST", "/v1/certificates",
                Messages.NewCertificate(
                    team: try required(test.description.key).teamID, bundleID: test.bundleID,
                    environment: "development", format: "p12", passphrase: passphrase))
            let p12 = [UInt8](try required(Data(base64Encoded: required(made.p12))))
            #expect(throws: (any Error).self) {
                try NIOSSLPKCS12Bundle(buffer: p12, passphrase: Array((passphrase + "x").utf8))
            }
            let bundle = try NIOSSLPKCS12Bundle(buffer: p12, passphrase: Array(passphrase.utf8))
            #expect(try bundle.certificateChain == NIOSSLCertificate.fromPEMBytes(Array(made.chain.utf8)))
            let key = try NIOSSLPrivateKey(bytes: Array(try required(made.privateKey).utf8), format: .pem)
            #expect(bundle.privateKey == key)
        }
    }

    @Test func `An invalid format or passphrase is refused with its place, and nothing is made`() async throws {
        try await TestService.run { test in
            let team = try required(test.description.key).teamID
            let request = try SigningRequest.pem(for: P256.Signing.PrivateKey()).replacing("\n", with: "\\n")
            for (more, pointer) in [
                (#""format":"pfx""#, "/format"), (#""format":"p12""#, "/passphrase"),
                (#""format":"p12","passphrase":7"#, "/passphrase"), (#""passphrase":"x""#, "/passphrase"),
                (#""format":"pem","passphrase":"x""#, "/passphrase"),
                (#""format":"p12","passphrase":"\u0000""#, "/passphrase"),
                (#""format":"p12","passphrase":"🔔""#, "/passphrase"),
                (#""format":"p12","passphrase":"\uFFFF""#, "/passphrase"),
                (#""format":"p12","passphrase":"\uFDD0""#, "/passphrase"),
                (#""format":"p12","passphrase":"\#(String(repeating: "x", count: 101))""#, "/passphrase"),
                (#""format":"p12","passphrase":"x","request":"\#(request)""#, "/format"),
            ] {
                let answer = try await test.ask(
                    "POST", "/v1/certificates",
                    body: #"{"team":"\#(team)","bundleID":"\#(test.bundleID)","environment":"universal",\#(more)}"#)
                #expect(answer.status == 400, "\(more): \(answer.text)")
                #expect(answer.problem?["pointer"] as? String == pointer, "\(more): \(answer.text)")
            }
            #expect(try await test.ask("GET", "/v1/certificates").text == "[]")
        }
    }

    // MARK: Deletion

    private static func request(_ method: String, _ path: String) -> [(String, String)] {
        [(":method", method), (":scheme", "https"), (":authority", "localhost"), (":path", path)]
    }

    @Test func `Deleting a team ends the trust in its keys and certificates on open connections`() async throws {
        try await TestService.run { test in
            let team = try required(test.description.key).teamID
            let deviceToken = try await test.makeDeviceToken()
            let byKey = try await test.connectProvider()
            let signed = ProviderHeaders(deviceToken, token: try test.providerToken()).fields
            #expect(try await byKey.send(signed).status == 200)
            let byCertificate = try await test.connectProvider(try await test.makeCertificate())
            let unsigned = ProviderHeaders(deviceToken, token: nil).fields
            #expect(try await byCertificate.send(unsigned).status == 200)

            let deleted: Messages.Team = try await test.administer("DELETE", "/v1/teams/\(team)")
            #expect(deleted.teamID == team && deleted.bundleIDs == [test.bundleID])

            let refused = try await byKey.send(signed)
            #expect(refused.status == 403 && refused.reason == "InvalidProviderToken")
            #expect(try await byCertificate.goAways() == [#"{"reason":"BadCertificate"}"#])
            for list in ["teams", "apps", "keys", "certificates"] {
                #expect(try await test.ask("GET", "/v1/\(list)").text == "[]", "\(list)")
            }
        }
    }

    @Test func `Deleting an app affects its devices, and creating it again restores nothing`() async throws {
        try await TestService.run { test in
            let team = try required(test.description.key).teamID
            let device = try await test.connectCourier(test.makeDeviceCertificate())
            let registered = try await device.send(Self.request("PUT", "/1/apps/\(test.bundleID)"), body: "")
            let old = try required(registered.body.split(separator: "\"").dropFirst(3).first.map(String.init))
            let provider = try await test.connectProvider()
            let headers = ProviderHeaders(old, token: try test.providerToken())
            #expect(try await provider.send(headers.fields).status == 200)  // It waits in the mailbox.

            let _: Messages.App = try await test.administer("DELETE", "/v1/apps/\(test.bundleID)")
            let gone = try await provider.send(headers.fields)
            #expect(gone.status == 400 && gone.reason == "TopicDisallowed")
            #expect(try await device.send(Self.request("PUT", "/1/apps/\(test.bundleID)"), body: "").status >= 400)

            let _: Messages.AppMade = try await test.administer(
                "POST", "/v1/apps", Messages.NewApp(team: team, bundleID: test.bundleID))
            let unknown = try await provider.send(headers.fields)
            #expect(unknown.status == 400)
            let again = try await device.send(Self.request("PUT", "/1/apps/\(test.bundleID)"), body: "")
            let new = try required(again.body.split(separator: "\"").dropFirst(3).first.map(String.init))
            #expect(new != old)
            // The first notification on the stream is for the new app, because the old app's mailbox was deleted.
            let stream = try await device.open(Self.request("GET", "/1/notifications"), endStream: true)
            let answer = try await provider.send(
                ProviderHeaders(new, token: try test.providerToken()).fields, body: #"{"aps":{"alert":"New"}}"#)
            #expect(answer.status == 200)
            var line = try await stream.nextLine()
            while line?.isEmpty == true { line = try await stream.nextLine() }
            #expect(line?.contains("New") == true)
            await device.close()
            await provider.close()
        }
    }

    // MARK: Lists

    @Test func `A page of serials begins after one that is written in capitals`() async throws {
        try await TestService.run { test in
            for _ in 0..<3 { _ = try await test.makeCertificate() }
            struct Shown: Decodable { let serial: String }
            let all = try JSONDecoder().decode(
                [Shown].self, from: try await test.ask("GET", "/v1/certificates").body
            ).map(\.serial)
            for serial in all {
                let page = try await test.ask("GET", "/v1/certificates?after=\(serial.uppercased())")
                let rest = try JSONDecoder().decode([Shown].self, from: page.body).map(\.serial)
                #expect(rest == all.filter { $0 > serial })
            }
        }
    }

    @Test func `A list is divided into pages`() async throws {
        try await TestService.run { test in
            let team = try required(test.description.key).teamID
            for name in ["a", "b", "c", "d"] {
                let _: Messages.AppMade = try await test.administer(
                    "POST", "/v1/apps", Messages.NewApp(team: team, bundleID: "app.\(name)"))
            }
            var names: [String] = []
            var path: String? = "/v1/apps?limit=2"
            while let next = path {
                let page = try await test.ask("GET", next)
                names += try JSONDecoder().decode([Messages.App].self, from: page.body).map(\.bundleID)
                path = page.headers.first(name: "link").flatMap { $0.firstMatch(of: /<([^>]+)>; rel="next"/) }
                    .map { String($0.1) }
            }
            #expect(names == ["app.a", "app.b", "app.c", "app.d", test.bundleID])
            #expect(try await test.ask("GET", "/v1/apps?after=app.d&limit=1000").text.contains(test.bundleID))
            for query in ["limit=0", "limit=1001", "limit=x", "unknown=1"] {
                #expect(try await test.ask("GET", "/v1/apps?\(query)").status == 400, "\(query)")
            }
        }
    }
}
