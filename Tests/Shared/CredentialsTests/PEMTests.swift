import CommonTesting
import Crypto
import Foundation
import Testing

@testable import Credentials

/// What openssl reads is read (RFC 7468), and what cannot be read gets a sentence of its own.
@Suite("PEM")
struct PEMTests {
    /// How a text may be written.
    enum Form: CaseIterable {
        case asItIs, crlf, oneLine, columns76, trailingBlanks, indented, noLineBreaks, byteOrderMark, attributes,
            headers
        case noEndOfLine
    }

    private static let attributes = """
        Bag Attributes
            friendlyName: Shop
            localKeyID: 54 69 6D 65
        Key Attributes: <No Attributes>
        subject=CN = Shop: a-b-c-----d

        """

    static func written(_ pem: String, _ form: Form) -> String {
        var lines = pem.split(separator: "\n").map(String.init)
        let (first, last) = (lines.removeFirst(), lines.removeLast())
        let base64 = lines.joined()
        func columns(_ count: Int) -> String {
            stride(from: 0, to: base64.count, by: count)
                .map { "\(base64.dropFirst($0).prefix(count))\n" }.joined()
        }
        return switch form {
        case .asItIs: pem
        case .crlf: pem.replacing("\n", with: "\r\n")
        case .oneLine: "\(first)\n\(base64)\n\(last)\n"
        case .columns76: "\(first)\n\(columns(76))\(last)\n"
        case .trailingBlanks: pem.replacing("\n", with: " \t\n") + " \n\n "
        case .indented: pem.split(separator: "\n").map { "    \($0)\n" }.joined()
        case .noLineBreaks: "\(first) \(base64) \(last)"
        case .byteOrderMark: "\u{feff}" + pem
        case .attributes: attributes + pem
        case .headers: "\(first)\nComment: a key\n  of the shop\nX: y\n \r\n\(columns(64))\(last)\n"
        case .noEndOfLine: String(pem.trimmingCharacters(in: .newlines))
        }
    }

    private let key = P256.Signing.PrivateKey()

    @Test(arguments: Form.allCases) func `Keys are read in every form`(_ form: Form) throws {
        let (secret, open) = (key.pemRepresentation, key.publicKey.pemRepresentation)
        #expect(try PEM(Self.written(secret, form)).signingKey.rawRepresentation == key.rawRepresentation)
        #expect(try PEM(Self.written(open, form)).verifyingKey.rawRepresentation == key.publicKey.rawRepresentation)
        // With another block before it, and one after it.
        let parameters = "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n"
        let several = parameters + open + "\n" + Self.written(secret, form) + "\nand a public key:\n" + open
        #expect(try PEM(several).signingKey.rawRepresentation == key.rawRepresentation)
    }

    @Test(arguments: Form.allCases) func `Certificates and requests are read in every form`(_ form: Form) throws {
        let chain = try [0, 1].map { try Self.certificate(number: $0) }
        let forms = chain.map { Self.written($0.pem, form) }
        let read = try PEM(forms.joined(separator: "\n"))
        #expect(try read.certificates == chain.map(\.der))
        #expect(try read.certificateText == chain.map(\.pem).joined())
        let request = try SigningRequest.pem(for: key)
        #expect(try PEM(Self.written(request, form)).certificateRequest == PEM(request).certificateRequest)
    }

    /// A sequence in DER with 700 bytes in it, as large as a certificate is, and the same in PEM.
    private static func certificate(number: UInt8) throws -> (der: [UInt8], pem: String) {
        let der = [0x30, 0x82, 0x02, 0xbc] + [UInt8](repeating: number, count: 700)
        let base64 = Data(der).base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
        return (der, "-----BEGIN CERTIFICATE-----\n\(base64)\n-----END CERTIFICATE-----\n")
    }

    /// Each text is made by openssl, from a new key.
    @Test(
        .startsPrograms,
        arguments: [
            "openssl ecparam -name prime256v1 -genkey",
            "openssl ecparam -name prime256v1 -genkey -noout",
            "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256",
            "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 >k; openssl pkey -in k -text",
            "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=a -keyout k -out c -days 9;"
                + "openssl pkcs12 -export -inkey k -in c -name Shop -passout pass:x | openssl pkcs12 -nodes -passin pass:x",
        ])
    func `What openssl writes is read`(_ command: String) async throws {
        let made = try await Self.shell(command)
        let key = try PEM(made).signingKey
        let again = try await OpenSSL.run(["pkey", "-in", "k.pem", "-pubout"], files: ["k.pem": made])
        #expect(try PEM(again.output).verifyingKey.rawRepresentation == key.publicKey.rawRepresentation)
    }

    @Test(.startsPrograms) func `A certificate with openssl's notes is read without them`() async throws {
        let made = try await Self.shell(
            "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=a -keyout k -days 9")
        let trusted = try await OpenSSL.run(
            ["x509", "-in", "c.pem", "-trustout", "-addtrust", "clientAuth"], files: ["c.pem": made])
        #expect(trusted.output.contains("TRUSTED CERTIFICATE"))
        #expect(try PEM(trusted.output).certificates == PEM(made).certificates)
    }

    @Test(
        .startsPrograms,
        arguments: [
            ("openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -aes256 -pass pass:x", "has a passphrase"),
            (
                "openssl ecparam -name prime256v1 -genkey -noout | openssl ec -aes128 -passout pass:x",
                "has a passphrase"
            ),
            ("openssl genpkey -algorithm RSA", "of the kind RSA"),
            ("openssl genpkey -algorithm RSA | openssl rsa -traditional", "of the kind RSA"),
            ("openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-384", "of the kind P-384"),
            ("openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-521", "of the kind P-521"),
            ("openssl genpkey -algorithm ED25519", "of the kind Ed25519"),
            ("openssl genpkey -algorithm X25519", "not a P-256 private key"),
            ("openssl ecparam -name prime256v1 -param_enc explicit -genkey -noout", "-ec_param_enc named_curve"),
            ("openssl ecparam -name prime256v1", "no private key in the text, but the parameters of a curve"),
        ])
    func `A key that cannot be used gets its own sentence`(_ command: String, _ cause: String) async throws {
        let made = try await Self.shell(command)
        let error = #expect(throws: TrustError.self) { try PEM(made).signingKey }
        #expect(error?.reason.contains(cause) == true, "\(String(describing: error))")
    }

    private static let certificate = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"
    private static let secret = P256.Signing.PrivateKey().pemRepresentation
    private static let texts: [(String, String)] = [
        ("", "The text is empty."),
        (" \r\n", "The text is empty."),
        ("MIGHAgEAMBMGByqGSM49", "This is not PEM: there is no line -----BEGIN …-----."),
        (certificate, "There is no private key in the text, but a certificate."),
        (certificate + block("PUBLIC KEY"), "but a certificate and a public key."),
        (block("SECRET 1234"), "but something else."),
        (block("OPENSSH PRIVATE KEY"), "OpenSSH's own form"),
        (changed("\n", #"\n"#), #"has \n where its lines end"#),
        (changed("\n", #"\r\n"#), #"has \n where its lines end"#),
        (changed("-----END PRIVATE KEY-----", ""), "The PRIVATE KEY has no end"),
        (changed("END PRIVATE", "END EC PRIVATE"), "The PRIVATE KEY has no end"),
        (changed("-----END", certificate + "-----END"), "The PRIVATE KEY has no end"),
        (changed("MIG", "M*G"), "its contents are not Base64"),
        (block("PRIVATE KEY", ""), "its contents are not Base64"),
        (block("PRIVATE KEY", "A: b\nAA==\n"), "its contents are not Base64"),
    ]

    private static var wide: [UInt8] {
        var bytes: [UInt8] = []
        for byte in secret.utf8 { bytes += [byte, 0] }
        return bytes
    }

    private static let bytes: [([UInt8], String)] = [
        (wide, "This is text in UTF-16"), ([0xff, 0xfe] + wide, "This is text in UTF-16"),
        // Read as UTF-8, as a program does that takes each file for text.
        (Array(String(decoding: [0xff, 0xfe] + wide, as: UTF8.self).utf8), "This is text in UTF-16"),
        ([UInt8](repeating: 0, count: 32), "The text is empty"),
        ([0x30, 0x81, 0x87, 0x02], "This is binary (DER or PKCS#12)"),
    ]

    private static func block(_ label: String, _ body: String = "AA==\n") -> String {
        "-----BEGIN \(label)-----\n\(body)-----END \(label)-----\n"
    }

    private static func changed(_ text: String, _ other: String) -> String { secret.replacing(text, with: other) }

    @Test(arguments: texts) func `A text that is no key gets its own sentence`(_ text: String, _ cause: String) {
        expectNoKey(Array(text.utf8), cause)
    }

    @Test(arguments: bytes) func `Bytes that are no text get their own sentence`(_ bytes: [UInt8], _ cause: String) {
        expectNoKey(bytes, cause)
    }

    private func expectNoKey(_ text: [UInt8], _ cause: String) {
        let error = #expect(throws: TrustError.self) { try PEM(text).signingKey }
        #expect(error?.reason.contains(cause) == true, "\(String(describing: error))")
        #expect(error?.reason.contains("MIG") == false && error?.reason.contains("1234") == false)
    }

    @Test func `The number of blocks has a limit`() throws {
        let many = String(repeating: Self.certificate, count: PEM.maximumBlocks)
        #expect(try PEM(many).certificates.count == PEM.maximumBlocks)
        expect(.tooLarge) { try PEM(many + Self.certificate) }
    }

    private static func shell(_ command: String) async throws -> String {
        let folder = FileManager.default.temporaryDirectory.appending(path: "pem-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        // Ignore a failure to remove the folder: it does no harm if it stays.
        defer { try? FileManager.default.removeItem(at: folder) }
        return try await ChildProcess.run("sh", ["-c", "{ \(command); } 2>/dev/null"], folder: folder.path).output
    }
}
