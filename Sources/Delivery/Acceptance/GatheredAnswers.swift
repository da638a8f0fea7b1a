/// Answers to many submissions, given to each gateway's connection together.
struct GatheredAnswers {
    private var groups: [Group] = []
    private var places: [ObjectIdentifier: Int] = [:]

    private struct Group {
        let receiver: any SubmissionAnswers
        var answers: [SubmissionAnswer]
    }

    mutating func append(_ answer: SubmissionAnswer, for receiver: any SubmissionAnswers) {
        // What is stored together often came together.
        if let last = groups.indices.last, groups[last].receiver === receiver {
            return groups[last].answers.append(answer)
        }
        if let place = places[ObjectIdentifier(receiver)] { return groups[place].answers.append(answer) }
        places[ObjectIdentifier(receiver)] = groups.count
        groups.append(Group(receiver: receiver, answers: [answer]))
    }

    /// Gives them, those of each connection in the order in which they came.
    consuming func give() {
        for group in groups { group.receiver.answer(group.answers) }
    }
}
