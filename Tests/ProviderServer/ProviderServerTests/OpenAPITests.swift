import CommonTesting
import HTTPAPI
import HTTPTypes
import NIOHTTP1
import Notifications
import Testing

@testable import ProviderServer
@testable import ServiceTesting

/// The description of the API, and the checks that follow from it.
@Suite(.timeLimit(.minutes(3))) struct OpenAPITests {
    @Test func `Every operation is described with its parameters, its body and its answers`() throws {
        guard case .object(let document) = ProviderServerAPI.description, case .object(let paths)? = document["paths"]
        else {
            Issue.record("no paths")
            return
        }
        for operation in ProviderServerAPI.operations {
            guard case .object(let path)? = paths[operation.path],
                case .object(let description)? = path[operation.method.rawValue.lowercased()],
                case .object(let responses)? = description["responses"]
            else {
                Issue.record("\(operation.path) is missing")
                continue
            }
            #expect((description["requestBody"] != nil) == (operation.body != nil))
            for status in operation.problems { #expect(responses["\(status)"] != nil) }
            let named = operation.path.matches(of: /\{(\w+)\}/).map { String($0.1) }
            #expect(operation.parameters.filter { $0.place == .path }.map(\.name) == named)
        }
    }

    @Test func `Anybody may read the description`() async throws {
        try await TestProvider.run { provider in
            let answer = try await provider.ask(.GET, "/openapi.json", key: "")
            #expect(answer.status == 200 && answer["openapi"] == "3.1.0")
            #expect(answer["paths", "/v1/messages", "post", "requestBody"] != nil)
        }
    }

    @Test(arguments: [
        ("MessageRequest/properties/topic", 255), ("MessageRequest/properties/collapseID", 64),
        ("Audience/properties/channel", 128), ("InstallationRequest/properties/user", ProviderServerLimits.nameBytes),
        ("AppRequest/properties/environments/properties/development/properties/url", 300),
        ("AppRequest/properties/identity/properties/issuer", ProviderServerLimits.identityNameBytes),
    ])
    func `The description has the limits of texts`(_ path: String, _ longest: Int) throws {
        var value: JSONValue? = ProviderServerAPI.description
        for key in ["components", "schemas"] + path.split(separator: "/").map(String.init) + ["maxLength"] {
            guard case .object(let members)? = value else { break }
            value = members[key]
        }
        #expect(value == .integer(Int64(longest)))
    }

    @Test(arguments: [
        "/v1/installations?usr=anna", "/v1/messages?limit=0", "/v1/messages?limit=many", "/v1/messages?after=-1",
        "/v1/messages?limit=1&limit=2", "/v1/apps?limit=1",
    ])
    func `A query that the operation does not take is refused`(_ path: String) async throws {
        try await TestShop.run(devices: []) { shop in
            let answer = try await shop.provider.ask(
                .GET, path + (path.contains("apps") ? "" : "&bundleID=\(TestShop.bundleID)"))
            #expect(answer.status == 400, "\(answer.body.text)")
        }
    }

    @Test func `A plus sign in a query is a space`() async throws {
        try await TestShop.run(devices: []) { shop in
            _ = try await shop.provider.ask(
                .PUT, "/v1/installations/i1",
                #"{"deviceToken":"00","environment":"development","user":"anna b"}"#, key: shop.serverKey)
            let found = try await shop.provider.ask(.GET, "/v1/installations?user=anna+b", key: shop.serverKey)
            #expect(found["items", "0", "id"] == "i1")
        }
    }

    @Test func `A method that a path does not take is answered 405`() async throws {
        try await TestShop.run(devices: []) { shop in
            let answer = try await shop.provider.ask(.PUT, "/v1/messages", "{}", key: shop.serverKey)
            #expect(answer.status == 405 && answer.headers.first(name: "allow") == "GET, HEAD, POST")
        }
    }
}
