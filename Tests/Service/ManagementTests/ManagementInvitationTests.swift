import Crypto
import Foundation
import Management
import NIOHTTP1
import Notifications
import Service
import Testing

@testable import ServiceTesting

/// Invitations in the management API.
@Suite(.timeLimit(.minutes(2))) struct ManagementInvitationTests {
    private typealias Messages = ManagementMessages

    private func invite(
        _ test: TestService, _ environment: String = "production"
    ) async throws -> Messages.InvitationMade {
        try await test.administer("POST", "/v1/invitations", Messages.NewInvitation(environment: environment))
    }

    @Test(arguments: [StoreChoice.sqlite, .memory])
    func `Unused codes are listed in pages, by the SHA-256 of the code and never by the code`(
        _ store: StoreChoice
    ) async throws {
        try await TestService.run {
            $0.store = store
        } _: { test in
            var made: [Messages.InvitationMade] = []
            for number in 0..<5 { made.append(try await invite(test, number == 0 ? "development" : "production")) }
            for invitation in made {
                #expect(invitation.id == Hexadecimal.string(SHA256.hash(data: Data(invitation.code.utf8))))
            }
            let before = UInt64(Date().timeIntervalSince1970 * 1000)
            var (listed, text): ([Messages.Invitation], String) = ([], "")
            var path: String? = "/v1/invitations?limit=2"
            while let next = path {
                let page = try await test.ask("GET", next)
                listed += try JSONDecoder().decode([Messages.Invitation].self, from: page.body)
                text += page.text
                path = page.headers.first(name: "link").flatMap { $0.firstMatch(of: /<([^>]+)>; rel="next"/) }
                    .map { String($0.1) }
            }
            #expect(listed.map(\.id) == made.map(\.id).sorted())
            #expect(listed.filter { $0.environment == "development" }.map(\.id) == [made[0].id])
            for invitation in made {
                #expect(!text.contains(invitation.code))
                let one: Messages.Invitation = try await test.administer("GET", "/v1/invitations/\(invitation.id)")
                #expect(one.expires == invitation.expires)
                #expect((1...86_400_000).contains(one.expires - before))
            }
        }
    }

    @Test func `The ID may be in capital letters; anything else is refused`() async throws {
        try await TestService.run { test in
            let made = try await invite(test)
            #expect(try await test.ask("GET", "/v1/invitations/\(made.id.uppercased())").status == 200)
            let cases: [(String, Int)] = [
                (String(made.id.dropLast()), 400), (made.id + "0", 400), (made.code, 400), ("%00", 400),
                (String(repeating: "0", count: 64), 404), (String(repeating: "é", count: 32), 400),
            ]
            for (id, status) in cases {
                let path = "/v1/invitations/" + (id.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")
                for method in ["GET", "DELETE"] {
                    #expect(try await test.ask(method, path).status == status, "\(method) \(id)")
                }
            }
            for query in ["limit=0", "limit=1001", "after=x", "after=\(made.code)", "unknown=1"] {
                #expect(try await test.ask("GET", "/v1/invitations?\(query)").status == 400, "\(query)")
            }
            #expect(try await test.ask("GET", "/v1/invitations").text.contains(made.id))
        }
    }
}
