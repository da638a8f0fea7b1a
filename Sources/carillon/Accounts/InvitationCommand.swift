import ArgumentParser
import Management

struct InvitationCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "invitation",
        abstract: "The activation codes that no device has used yet.",
        subcommands: [
            ListCommand<ManagementMessages.Invitation>.self, ShowCommand<ManagementMessages.Invitation>.self,
            RemoveCommand<ManagementMessages.Invitation>.self,
        ],
    )
}

extension ManagementMessages.Invitation: RemovableItem {
    static let path = "/v1/invitations"
    static let plural = "unused activation codes by their IDs"
    static let singular = "an unused activation code"
    static let argument = (help: "The invitation's ID, 64 hexadecimal digits", value: "id")

    static let removal = (
        command: "withdraw",
        abstract: "Withdraw an activation code at once, so that no device can use it. This cannot be undone.",
        discussion: "The ID is not the code: invitation list shows it, and device invite --json prints both."
    )

    var itemName: String { id }

    var line: String { "\(id)  \(environment)  until \(dateText(milliseconds: expires))" }

    static func line(_ withdrawn: ManagementMessages.Invitation) -> String {
        "Withdrew the invitation \(withdrawn.id)."
    }
}
