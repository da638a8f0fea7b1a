import CommonTesting
import Foundation
import Testing

@testable import ServiceTesting

/// `carillon console`, on a running service.
@Suite(.service(), .timeLimit(.minutes(2)))
struct ConsoleCommandTests {
    @Test func `With --json the command prints only the address of the link`() async throws {
        let service = try CarillonProcess.current
        let made = try await service.carillon("console")
        #expect(made.status == 0, "\(made.errors)")
        let object = try made.object
        #expect(object.keys == ["url"])
        let link = try #require(object["url"]?.text.flatMap(URLComponents.init(string:)))
        #expect(link.scheme == "http" && link.host == "127.0.0.1" && link.path == "/console/sign-in")
        #expect(link.queryItems?.first { $0.name == "code" }?.value?.count == 64)
    }

    @Test func `The command signs all browsers out`() async throws {
        let ended = try await CarillonProcess.current.carillon("console", "--end")
        #expect(ended.status == 0)
        #expect(try ended.object == ["ended": 0])
    }
}
