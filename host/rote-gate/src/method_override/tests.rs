//! Every spelling of another method that a server might look for, and what is none.

use super::*;

fn claim(url: &str, headers: &[(&str, &str)], body: &[u8]) -> Option<String> {
    let claimed = ClaimedRequest {
        method: "POST".into(),
        url: url.into(),
        headers: headers.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
        body: (!body.is_empty()).then(|| body.to_vec()),
        ..ClaimedRequest::default()
    };
    let query = url.split_once('?').map(|(_, query)| query);
    find(&claimed, query, "POST", &|name| name == "httpMethod").map(|found| found.to_string())
}

fn with_body(media: &str, body: &[u8]) -> Option<String> {
    claim("/t", &[("Content-Type", media)], body)
}

#[test]
fn a_query_names_no_other_method_however_it_is_spelled() {
    for query in [
        "_method=DELETE",
        "a=1&_METHOD=put",
        "%5Fmethod=%44ELETE",
        "a=1;_method=DELETE",
        ".method=DELETE",
        "_method[]=DELETE",
        "_HttpMethod=PATCH",
        "x-http-method-override=PATCH",
        "X_HTTP_Method=PATCH",
        "_method=banana",
        "_method=post&_method=DELETE",
        "method=delete",
        "a=1&Method=PUT",
        "method[]=DELETE",
    ] {
        assert!(claim(&format!("/t?{query}"), &[], b"").is_some(), "{query}");
    }
    for query in [
        "_method=post",
        "_method=",
        "method=card",
        "method=flickr.photos.getInfo",
        "method=POST",
        "httpMethod=PUT",
        "payment_method=card",
        "a=_method",
    ] {
        assert_eq!(claim(&format!("/t?{query}"), &[], b""), None, "{query}");
    }
}

#[test]
fn a_form_names_no_other_method_whatever_the_case_of_its_media_type() {
    for media in [
        "application/x-www-form-urlencoded",
        "APPLICATION/X-WWW-FORM-URLENCODED",
        " Application/X-Www-Form-Urlencoded ; Charset=UTF-8",
        "application/json, application/x-www-form-urlencoded",
    ] {
        let found = with_body(media, b"a=1&%5Fmethod=DELETE");
        assert_eq!(found.as_deref(), Some("the form field `_method` says `DELETE`"), "{media}");
    }
    assert!(claim("/t", &[], b"_method=DELETE").is_some(), "a body without a media type");
    assert!(
        claim(
            "/t",
            &[("content-type", "text/plain"), ("content-type", "application/x-www-form-urlencoded")],
            b"_method=PUT"
        )
        .is_some()
    );
    assert_eq!(with_body("application/x-www-form-urlencoded", b"_method=POST&a=DELETE"), None);
}

#[test]
fn a_part_names_no_other_method_however_its_name_is_written() {
    let part = |disposition: &str, value: &str| {
        let text = format!("--b\r\n{disposition}\r\nX-Y: z\r\n\r\n{value}\r\n--b--\r\n");
        with_body("Multipart/Form-Data; boundary=b", text.as_bytes())
    };
    for disposition in [
        r#"Content-Disposition: form-data; name="_method""#,
        r#"content-disposition:form-data;filename="a;name=b";NAME="_Method""#,
        "Content-Disposition: form-data; name=_method",
        "Content-Disposition: form-data;\r\n name=\"_method\"",
        "Content-Disposition: form-data; name*=UTF-8''%5Fmethod",
        r#"Content-Disposition: form-data; name="\_method""#,
    ] {
        assert!(part(disposition, "DELETE").is_some(), "{disposition}");
        assert_eq!(part(disposition, "post"), None, "{disposition}");
    }
    assert_eq!(part(r#"Content-Disposition: form-data; name="f"; filename="_method""#, "DELETE"), None);
    let second = b"--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--b\r\n\
        Content-Disposition: form-data; name=\"_method\"\r\n\r\nDELETE\r\n--b--\r\n";
    assert!(with_body("multipart/form-data; boundary=b", second).is_some());
    let bare_lines: Vec<u8> = second.iter().copied().filter(|byte| *byte != b'\r').collect();
    assert!(with_body("multipart/form-data; boundary=b", &bare_lines).is_some());
}

#[test]
fn a_json_body_names_no_other_method() {
    for body in [
        r#"{"a":1,"_method":"DELETE"}"#,
        r#"{"\u005fmethod":"DELETE"}"#,
        r#"{"_method":"POST","_method":"DELETE"}"#,
        r#"{"_method":"DELETE","_method":"POST"}"#,
        r#"[{"a":1},{"_method":"PUT"}]"#,
        r#"{"_method":["DELETE"]}"#,
        r#"{"x-http-method-override":"DELETE"}"#,
        "\u{feff}{\"_method\":\"DELETE\"}",
        "{\"a\":1}\n{\"_method\":\"DELETE\"}\n",
        r#"{"a":1,} {'_method':'DELETE'}"#,
        r#"{"\ud800":1,"\u005fmethod":"DELETE"}"#,
    ] {
        for media in ["application/json", "application/vnd.api+JSON; charset=utf-8"] {
            assert!(with_body(media, body.as_bytes()).is_some(), "{body}");
        }
    }
    for body in [
        r#"{"_method":"POST"}"#,
        r#"{"_method":null,"methodOverride":true}"#,
        r#"{"method":"DELETE","httpMethod":"PUT","url":"/hook"}"#,
        r#"{"rule":{"_method":"DELETE"}}"#,
        r#"{"note":"_method"}"#,
        "",
        "7",
    ] {
        assert_eq!(with_body("application/json", body.as_bytes()), None, "{body}");
    }
    assert_eq!(with_body("text/plain", br#"{"_method":"DELETE"}"#), None);
}

#[test]
fn a_header_or_a_cookie_names_no_other_method() {
    for name in
        ["X-HTTP-Method-Override", "X_HTTP_METHOD_OVERRIDE", "x-http-method", "X.HTTP.Method", "X-Method_Override"]
    {
        assert!(claim("/t", &[(name, "DELETE")], b"").is_some(), "{name}");
        assert_eq!(claim("/t", &[(name, "POST")], b""), None, "{name}");
    }
    assert!(claim("/t", &[("rote-cookie-parameter", "_method=DELETE")], b"").is_some());
    assert!(claim("/t", &[("Rote-Cookie-Parameter", "%5fmethod=DELETE")], b"").is_some());
    assert_eq!(claim("/t", &[("rote-cookie-parameter", "theme=DELETE")], b""), None);
}
