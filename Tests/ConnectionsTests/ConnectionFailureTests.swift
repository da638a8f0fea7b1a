import Foundation
import NIOCore
import NIOSSL
import Testing

@testable import Connections

@Suite struct ConnectionFailureTests {
    @Test(arguments: [BoringSSLError.zeroReturn, .syscallError, .noError, .wantRead])
    func `A handshake that ends without a reason is logged without the libraries' names`(_ error: BoringSSLError) {
        let cause = ConnectionFailure.cause(of: NIOSSLError.handshakeFailed(error))
        #expect(cause == ConnectionFailure.endedInHandshake)
    }

    @Test func `A file with authorities that cannot be used is described without the libraries' names`() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect(Self.cause(ofFile: path) == "No such file or directory")
        try Data("nonsense".utf8).write(to: URL(fileURLWithPath: path))
        #expect(Self.cause(ofFile: path) == "there is no certificate in PEM")
    }

    private static func cause(ofFile path: String) -> String? {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .file(path)
        do {
            _ = try NIOSSLContext(configuration: configuration)
            return nil
        } catch {
            return ConnectionFailure.cause(of: error)
        }
    }

    @Test func `A file that cannot be read is described by the system's text`() {
        let error = #expect(throws: (any Error).self) { _ = try Data(contentsOf: URL(fileURLWithPath: "/none")) }
        #expect(error.map { ConnectionFailure.cause(of: $0) } == "No such file or directory")
    }
}
