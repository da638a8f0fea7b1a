/// What goes over the administration's socket: HTTP/2 with JSON, documented in docs/administration.md.
package enum AdministrationMessages {
    package struct NewTeam: Codable, Sendable {
        package var name: String
        package init(name: String) { self.name = name }
    }

    package struct NewApp: Codable, Sendable {
        package var team: String
        package var bundleID: String
        package init(team: String, bundleID: String) {
            self.team = team
            self.bundleID = bundleID
        }
    }

    /// The private half stays with who made it.
    package struct NewKey: Codable, Sendable {
        package var team: String
        /// X9.63, 65 bytes, in Base64.
        package var publicKey: String
        /// Nil for both.
        package var environment: String?
        package init(team: String, publicKey: String, environment: String?) {
            self.team = team
            self.publicKey = publicKey
            self.environment = environment
        }
    }

    package struct NewInvitation: Codable, Sendable {
        package var environment: String
        package init(environment: String) { self.environment = environment }
    }

    package struct TeamMade: Codable, Sendable {
        package var teamID: String
    }

    package struct AppMade: Codable, Sendable {
        package var bundleID: String
        package var topics: [String]
    }

    package struct KeyMade: Codable, Sendable {
        package var keyID: String
    }

    package struct Invitation: Codable, Sendable {
        package var code: String
    }

    package struct Failure: Codable, Sendable {
        package var error: String
    }
}
