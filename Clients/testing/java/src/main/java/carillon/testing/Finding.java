package carillon.testing;

import java.util.List;

/**
 * Something that the backend did although Apple advises against it.
 *
 * @param severity {@code error}, {@code warning} or {@code note}
 * @param section the section of the Guide that gives the advice
 * @param requests the requests that show it, by their numbers
 */
public record Finding(String id, String severity, String section, String text, String advice, List<Long> requests) {}
