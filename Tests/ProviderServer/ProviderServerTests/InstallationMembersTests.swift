import HTTPAPI
import CampaignStore
import CommonTesting
import Foundation
import Notifications
import Testing

@testable import ProviderServer

/// A property of an installation is in every form in which the server takes and shows installations.
struct InstallationMembersTests {
    /// An installation with a value for every property.
    private static let full: Installation = {
        let now = Timestamp(milliseconds: 1_795_000_000_000)
        var installation = Installation(id: "phone", deviceToken: "00", environment: .development, registered: now)
        installation.languages = ["sv"]
        installation.timeZone = "Europe/Stockholm"
        installation.user = "anna"
        installation.tags = ["news"]
        installation.appTags = ["sport"]
        installation.appVersion = "2.1"
        installation.values = ["name": .string("Anna")]
        installation.appValues = ["level": 3]
        installation.tokens.services = ["voip": "01"]
        installation.tokens.activities = ["order": "02"]
        installation.badge = 2
        return installation
    }()

    /// The properties that an app or a backend sets.
    private static let properties = Mirror(reflecting: full).children.compactMap(\.label)
        .filter { !["registered", "created", "changed", "end"].contains($0) }

    @Test(arguments: properties)
    func `A request may set a property, the answer shows it, and docs/provider-server.md has its row`(
        _ name: String
    ) throws {
        guard name != "id" else { return }
        #expect(ProviderMessages.InstallationRequest.schema.keys.contains(name))
        #expect(InstallationMember.values(Self.full)[name] != nil)
        #expect(try Repository.text("docs/provider-server.md").contains("\n| `\(name)` |"))
    }

    @Test func `The installation of these tests has a value of its own for every property`() {
        let bare = Installation(id: "", deviceToken: "", environment: .production, registered: Self.full.registered)
        #expect(equalProperties(Self.full, bare).filter(Self.properties.contains) == [])
    }

    @Test func `An installation is read from what the answer shows as it was`() throws {
        let full = Self.full
        let document = try ProviderMessages.InstallationRequest(.object(InstallationMember.values(full)))
        #expect(try document.installation(full.id, registered: full.registered, now: full.changed) == full)
    }

    @Test(arguments: properties) func `A property is a column of CSV`(_ name: String) {
        // Values may have any type, which a field of CSV does not say.
        guard name != "values", name != "appValues" else { return }
        #expect(InstallationColumn.members.contains { $0.name == name })
    }
}
