import Console
import Foundation
import Notifications
import Testing

@testable import HTTPAPI
@testable import Management

/// Reading, writing and the description of a message follow from its form.
struct ManagementMessagesTests {
    private typealias Messages = ManagementMessages

    private static let messages: [any JSONMessage.Type] = [
        Messages.NewTeam.self, Messages.TeamMade.self, Messages.Team.self, Messages.NewApp.self,
        Messages.AppChange.self, Messages.AppMade.self, Messages.App.self, Messages.NewKey.self, Messages.KeyMade.self,
        Messages.KeyRevoked.self, Messages.Key.self, Messages.NewCertificate.self, Messages.CertificateMade.self,
        Messages.Certificate.self, Messages.CertificateRevoked.self, Messages.NewInvitation.self,
        Messages.InvitationMade.self, Messages.Invitation.self, Messages.RevokedDevice.self, Messages.TokenKey.self,
        Messages.AdministratorMade.self, Messages.Administrator.self, Messages.AdministratorRevoked.self,
        ServerStatus.self, Messages.Service.self, Messages.ServiceSample.self, Messages.Latency.self,
        Messages.NewChannel.self, Messages.NewBroadcast.self, Messages.Channel.self, Messages.ClockAdvance.self,
        Messages.ClockReading.self, ConsoleLink.self, EndedSessions.self, ReasonExplanation.self,
        Messages.NewGrant.self, Messages.GrantMade.self, Messages.GrantChange.self, Messages.Grant.self,
        Messages.NewGrantKey.self, Messages.GrantKeyMade.self, Messages.GrantKey.self, Messages.GrantHandle.self,
        Messages.NewGrantInvitation.self, Messages.GrantInvitationMade.self, Messages.GrantInvitation.self,
        Messages.Node.self, Messages.NodeDrain.self, Messages.RehearsalBegun.self, Messages.Rehearsal.self,
        Messages.Report.self, Messages.Journal.self, Messages.DeletedRequests.self, Messages.Wait.self,
        Messages.NewNotification.self, Messages.NotificationSent.self, Messages.StrictRefusal.self,
        Messages.Behaviour.self, Messages.ChangedDevice.self, Messages.NewDevice.self, Messages.Device.self,
        Messages.DeviceApp.self, Messages.DeviceSubscription.self,
        Messages.NewUpstream.self, Messages.NewCredentials.self, Messages.Upstream.self,
        Messages.NewAppWebPush.self, Messages.AppWebPush.self, Messages.Upstream.Credentials.self,
        Messages.UpstreamRefusal.self,
    ]

    /// The bodies and answers that are described by a schema alone.
    private static let others: Set<String> = [
        "OpenAPI", "Problem", "NewRehearsal", "NewRehearsalRule", "RehearsalCondition", "RehearsalFault",
        "RecordedRequest", "Waited",
        "WaitedInVain", "NearMiss", "Fixture",
        "CompletedFixture", "FixtureApp", "FixtureTeam", "FixtureKey", "FixtureCertificate", "FixtureDevice",
        "FixtureSubscription",
    ]

    @Test func `The list of messages in this test is complete`() throws {
        guard case .object(let document) = ManagementOperations.description,
            case .object(let components)? = document["components"], case .object(let schemas)? = components["schemas"]
        else {
            Issue.record("no schemas")
            return
        }
        let names = Self.messages.compactMap { type in
            if case .named(let name, _) = type.schema { name } else { nil }
        }
        #expect(names.count == Self.messages.count)
        #expect(Self.others.union(names) == Set(schemas.keys))
    }

    @Test func `Each member is read into the property that it is written from`() throws {
        for type in Self.messages { try Self.expectRoundTrip(type) }
    }

    private static func expectRoundTrip<Message: JSONMessage>(_ type: Message.Type) throws {
        var count = 0
        let document = example(of: type.schema, &count)
        #expect(type.form.write(try type.form.read(document, isStrict: false)) == document)
        let decoded = try JSONDecoder().decode(type, from: Data(document.text.utf8))
        #expect(JSONValue(try Array(JSONEncoder().encode(decoded))) == document)
    }

    /// A document with all members of a schema, each with another value.
    private static func example(of schema: Schema, _ count: inout Int) -> JSONValue {
        count += 1
        switch schema {
        case .string: return .string("text \(count)")
        case .integer: return .integer(count)
        case .boolean: return .bool(count.isMultiple(of: 2))
        case .array(let element, _): return [example(of: element, &count), example(of: element, &count)]
        case .object(let members):
            return .object(members.reduce(into: [:]) { $0[$1.name] = example(of: $1.schema, &count) })
        case .openObject, .any: return [:]
        case .null: return .null
        case .oneOf(let schemas): return schemas.first.map { example(of: $0, &count) } ?? [:]
        case .named(_, let schema): return example(of: schema, &count)
        }
    }

    @Test func `A command reads the answer of a newer service`() throws {
        let answer = #"{"name":"a","state":"resting","size":7}"#
        let node = try JSONDecoder().decode(Messages.Node.self, from: Data(answer.utf8))
        #expect(node.state == "resting" && node.peer == nil)
        #expect(throws: (any Error).self) { try Messages.Node.form.read(["name": "a", "state": "resting"]) }
    }
}
